// Package device gives a test the one device that it runs on: a GPU that no other process on the machine uses
// meanwhile, or a simulated one (tests/simhip). Tests are written once, against Device; which of the two it is was
// decided by the build (--config=gfx942, --config=simulated) and comes in the file that the environment variable DEVICE
// names, written by device_description() in tests/hardware/defs.bzl.
//
// It knows how the kernel lists GPUs, how ROCm and HIP are told to see one of them, and the environment variables and
// report of simhip. It must not know MIOpen: what a test runs, and what is right, is the test's business. Nothing
// outside this package depends on whether the device is simulated, save through Device's methods.
//
// A device that is asked for and not there is a failure with the reason and a remedy. It is never a skip: a pool of
// machines that lost their GPUs would be green.
//
// # Locks
//
// GPUs are shared by whoever is on the machine, so a GPU is taken by flock(2) on a file of its own. The lock belongs to
// the open file, which the programs started by Device.Command inherit: it is released when the last of them has ended,
// however it ended, so that a test killed by a time-out does not hand on a GPU on which its program still runs.
//
// The files are in /dev/shm/miopen-hipdnn-shim-gpus, or in the directory that GPU_LOCK_DIR names. It is /dev/shm since
// all users can write there, it is empty after a reboot as the numbers of GPUs may then be others, and Bazel's sandbox
// passes it through, which it does not do with /tmp. Containers have a /dev/shm of their own: those that share GPUs
// need --ipc=host, or one GPU_LOCK_DIR mounted into all of them and passed with --test_env=GPU_LOCK_DIR.
//
// The directory has mode 01777 and the files 0666, whatever the umask, so that one user's tests wait for another's.
// Files are never deleted (who waits on a deleted file waits alone) and, once there, are opened without O_CREAT, which
// Linux refuses for another user's file in such a directory (fs.protected_regular).
package device

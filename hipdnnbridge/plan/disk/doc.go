// Package disk keeps serialised plans in a folder, for the processes that come later.
//
// It knows nothing of what a plan is, and of a key only its bytes. Any number of processes use a folder
// at once, on a local or a shared file system:
//
//   - A plan is a file of its own, written under another name and renamed. A file holds its key and a
//     digest, and one that is not whole, or is another key's, is a miss and is removed: nothing that is
//     wrong with the folder is ever a caller's error when it loads.
//   - For each key one process builds at a time, if the file system has locks; a process that ends gives
//     its locks up. Where it has none, or one process builds for too long, the others build too.
//   - The folder is bounded: when it has outgrown its limit, plans that were not used for longest go.
//
// A plan that is restored becomes code and addresses in the process, so that the folder has to be the
// user's own: one that others can write to is refused.
package disk

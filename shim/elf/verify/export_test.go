package verify

// For the tests in package verify_test, which may import the rewriter.
var (
	Compile    = compile
	Variants   = variants
	Everything = everything
)

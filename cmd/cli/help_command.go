package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newHelp is cobra's help, but fails for a command that does not exist.
func newHelp(name string) *cobra.Command {
	all := false
	help := &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help of a command",
		Example: "  " + name + " help --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			shown, rest, err := cmd.Root().Find(args)
			if err == nil {
				err = KnownCommand(shown, rest)
			}
			if err != nil {
				return Usage(cmd.Root(), err)
			}
			if all {
				return helpBelow(shown)
			}
			shown.InitDefaultHelpFlag()
			return shown.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
			shown, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, sub := range shown.Commands() {
				if !sub.Hidden && strings.HasPrefix(sub.Name(), typed) {
					names = append(names, sub.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	help.Flags().BoolVar(&all, "all", false, "and of all commands below it, as a page in Markdown")
	return help
}

// helpBelow prints the help of a command and of those below it, without the global flags of
// the root again.
func helpBelow(cmd *cobra.Command) error {
	cmd.InitDefaultHelpFlag()
	usage, _, _ := strings.Cut(cmd.UsageString(), "\nGlobal Flags:")
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "## %s\n\n```\n%s\n\n%s```\n\n", cmd.CommandPath(), cmd.Long, usage)
	for _, sub := range cmd.Commands() {
		if err == nil && !sub.Hidden && sub.Name() != "completion" && sub.Name() != "help" {
			err = helpBelow(sub)
		}
	}
	return err
}

// addCompletion adds the commands that write completions, with an example each.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	name := root.Name()
	examples := map[string]string{
		"bash":       "bash > ~/.local/share/bash-completion/completions/" + name,
		"zsh":        `zsh > "${fpath[1]}/_` + name + `"`,
		"fish":       "fish > ~/.config/fish/completions/" + name + ".fish",
		"powershell": "powershell | Out-String | Invoke-Expression",
	}
	completion, _, _ := root.Find([]string{"completion"})
	completion.Example = "  source <(" + name + " completion bash)"
	NewParent(completion)
	for _, shell := range completion.Commands() {
		shell.Long = fmt.Sprintf("Print the script that completes the commands, flags and names of programs of\n%s in %s. A new shell uses it once it is stored as below.", name, shell.Name())
		shell.Example = "  " + name + " completion " + examples[shell.Name()]
	}
}

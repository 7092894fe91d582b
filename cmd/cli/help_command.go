package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// help is cobra's help, but fails for a command that does not exist.
func (o *Options) help(name string) Command {
	var f struct {
		All bool `flag:"all" help:"and of all commands below it, as a page in Markdown"`
	}
	return Command{
		Use: "help [COMMAND] [flags]", Short: "Show the help of a command",
		Example: "  " + name + " help --all",
		Args:    cobra.ArbitraryArgs, Flags: &f,
		Run: func(cmd *cobra.Command, args []string) (Result, error) {
			shown, rest, err := cmd.Root().Find(args)
			if err == nil {
				err = KnownCommand(shown, rest)
			}
			if err != nil {
				return nil, Usage(cmd.Root(), err)
			}
			if f.All {
				return nil, o.helpBelow(shown)
			}
			shown.InitDefaultHelpFlag()
			return nil, shown.Help()
		},
		Complete: func(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
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
}

// helpBelow prints the help of a command and of those below it, without the global flags of
// the root again.
func (o *Options) helpBelow(cmd *cobra.Command) error {
	cmd.InitDefaultHelpFlag()
	usage, _, _ := strings.Cut(cmd.UsageString(), "\nGlobal Flags:")
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "## %s\n\n```\n%s\n\n%s```\n\n", cmd.CommandPath(), o.helpText(cmd), usage)
	for _, sub := range cmd.Commands() {
		if err == nil && !sub.Hidden && sub.Name() != "completion" && sub.Name() != "help" {
			err = o.helpBelow(sub)
		}
	}
	return err
}

// addCompletion adds the commands that write completions, with an example each.
func (o *Options) addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	name := root.Name()
	examples := map[string]string{
		"bash":       "bash > \\\n    ~/.local/share/bash-completion/completions/" + name,
		"zsh":        `zsh > "${fpath[1]}/_` + name + `"`,
		"fish":       "fish > \\\n    ~/.config/fish/completions/" + name + ".fish",
		"powershell": "powershell | Out-String | Invoke-Expression",
	}
	completion, _, _ := root.Find([]string{"completion"})
	completion.Example = "  source <(" + name + " completion bash)"
	completion.Args, completion.RunE = usageArgs(KnownCommand), o.action(Command{})
	for _, shell := range completion.Commands() {
		shell.Long = fmt.Sprintf("Print the script that completes the commands, flags and names of programs of\n%s in %s. A new shell uses it once it is stored as below.", name, shell.Name())
		shell.Example = "  " + name + " completion " + examples[shell.Name()]
	}
}

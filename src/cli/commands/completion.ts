/**
 * `completion`: prints the completion script for a shell.
 *
 * The script is generated from the command table and the usage line of each command.
 */
import { type Command, type Commands, UsageError } from '../command.ts'
import { bashScript } from '../completion/bash.ts'
import { fishScript } from '../completion/fish.ts'
import { placesOf } from '../completion/places.ts'
import { powershellScript } from '../completion/powershell.ts'
import { zshScript } from '../completion/zsh.ts'

const SCRIPTS = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
  powershell: powershellScript,
} as const

const isShell = (text: string): text is keyof typeof SCRIPTS => Object.hasOwn(SCRIPTS, text)

export const completionCommand = (commands: Commands): Command => ({
  usage: 'bash|zsh|fish|powershell [--json]',
  help: `
Prints a script with which a shell completes commands, options and their values. To install the script
permanently:

  bash         countersignd completion bash > ~/.local/share/bash-completion/completions/countersignd
  zsh          countersignd completion zsh > _countersignd   (in a folder of fpath)
  fish         countersignd completion fish > ~/.config/fish/completions/countersignd.fish
  powershell   countersignd completion powershell >> $PROFILE`,
  args: [1, 1],
  async run({ args: [shell = ''], print }) {
    if (!isShell(shell)) throw new UsageError('Name the shell: bash, zsh, fish or powershell.')
    const script = SCRIPTS[shell](await placesOf(commands))
    print({ shell, script }, script.trimEnd())
  },
})

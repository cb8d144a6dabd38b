/**
 * Shows a text with its process id on the alternate screen, with a raw terminal, until a signal
 * ends it.
 */
import { harmlessIo } from '../../src/cli/output.ts'
import { onOwnScreen } from '../../src/cli/commands/session/recovery-page.ts'
import { openPrompt } from '../../src/cli/prompt.ts'

const io = harmlessIo(process)
await onOwnScreen(io, 'The words.\n', () => openPrompt(io).askUnseen(`Process ${process.pid}. `))

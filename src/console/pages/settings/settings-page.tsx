import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'

/** Placeholder of this branch. */
export default function SettingsPage() {
  return <PageFrame title={messages().frame.settings}>{null}</PageFrame>
}

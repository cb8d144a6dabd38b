import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'

/** Placeholder of this branch. */
export default function LogPage() {
  return <PageFrame title={messages().frame.log}>{null}</PageFrame>
}

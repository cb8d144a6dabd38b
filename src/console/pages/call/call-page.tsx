import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'

/** Placeholder of this branch. */
export default function CallPage() {
  return <PageFrame title={messages().frame.call}>{null}</PageFrame>
}

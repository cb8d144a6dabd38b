import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'

/** Placeholder of this branch. */
export default function TokensPage() {
  return <PageFrame title={messages().frame.tokens}>{null}</PageFrame>
}

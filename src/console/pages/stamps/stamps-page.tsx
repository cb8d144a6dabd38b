import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'

/** Placeholder of this branch. */
export default function StampsPage() {
  return <PageFrame title={messages().frame.stamps}>{null}</PageFrame>
}

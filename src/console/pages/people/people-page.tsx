import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'

/** Placeholder of this branch. */
export default function PeoplePage() {
  return <PageFrame title={messages().frame.people}>{null}</PageFrame>
}

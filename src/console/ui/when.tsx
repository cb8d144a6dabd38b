import { thisMinute } from '../data/clock.ts'
import { messages, timeExact, timeRelative } from '../text/text.tsx'

/** Shows a time relative to now, and exactly as a hint; "never" for null. */
export const When = ({ at }: { readonly at: string | null | undefined }) =>
  at === null || at === undefined ? (
    <>{messages().common.never}</>
  ) : (
    <time dateTime={at} title={timeExact(at)}>
      {timeRelative(at, thisMinute.value)}
    </time>
  )

import { Name } from './person-name.tsx'

/** What a button is about, for screen readers: the buttons of a list have the same texts. */
export const AboutName = ({ of }: { readonly of: string }) => (
  <span class="unseen">
    {' '}
    <Name of={of} />
  </span>
)

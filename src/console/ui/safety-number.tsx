/** The digits of a safety number, in groups that two people compare one after the other. */
export const SafetyNumber = (of: { readonly label: string; readonly digits: string }) => (
  <ol class="safety-number" aria-label={of.label} translate={false}>
    {of.digits.split(' ').map((group, at) => (
      <li key={at}>{group}</li>
    ))}
  </ol>
)

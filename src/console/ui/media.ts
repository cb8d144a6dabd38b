import { useSignal, type ReadonlySignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

/** Returns whether a media query fits, kept current. */
export function useMedia(query: string): ReadonlySignal<boolean> {
  const fits = useSignal(matchMedia(query).matches)
  useEffect(() => {
    const list = matchMedia(query)
    const update = () => {
      fits.value = list.matches
    }
    list.addEventListener('change', update)
    return () => list.removeEventListener('change', update)
  }, [query])
  return fits
}

import { locale } from './text.tsx'

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const

/** Returns a size in bytes as text, such as "1.2 MB". */
export function sizeText(bytes: number): string {
  const at = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1)
  return (bytes / 1000 ** at).toLocaleString(locale(), {
    style: 'unit',
    unit: UNITS[at]!,
    unitDisplay: at === 0 ? 'long' : 'short',
    maximumFractionDigits: 1,
  })
}

/** A text as a QR code. */
import encodeQR from 'qr'
import { useMemo } from 'preact/hooks'

/** The light border that scanners need, in modules. */
const QUIET = 4

/** Shows a text as a QR code, dark on light in every colour scheme. */
export const QrPicture = ({ of, alt }: { readonly of: string; readonly alt: string }) => {
  const { path, size } = useMemo(() => {
    const rows = encodeQR(of, 'raw', { ecc: 'medium', border: QUIET })
    const squares = rows.flatMap((row, y) =>
      row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
    )
    return { path: squares.join(''), size: rows.length }
  }, [of])
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={alt}>
      <path d={path} shape-rendering="crispEdges" />
    </svg>
  )
}

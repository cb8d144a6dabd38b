/** The chart of a trend. Screen readers get its summary; the page has its numbers as a table. */
import { useEffect, useRef } from 'preact/hooks'
import UPlot from 'uplot'
import type { Schemas } from '../../data/api.ts'
import { locale } from '../../text/text.tsx'

/** The properties of the chart. */
export interface TrendChartProps {
  readonly trend: Schemas['OrgTrend']
  readonly summary: string
  readonly label: string
}

const HEIGHT = 220
const FONT_SIZE = 12

/** Returns the colours of the page, which follow the colour scheme. */
function colours() {
  const style = getComputedStyle(document.documentElement)
  const of = (name: string) => style.getPropertyValue(name).trim()
  return { line: of('--accent'), fill: of('--wash'), text: of('--muted'), grid: of('--line') }
}

const dayFormat = () =>
  new Intl.DateTimeFormat(locale(), { day: 'numeric', month: 'short', timeZone: 'UTC' })

function optionsFor(width: number, label: string): UPlot.Options {
  const { line, fill, text, grid } = colours()
  const days = dayFormat()
  const family = getComputedStyle(document.body).fontFamily
  const axis = {
    stroke: text,
    font: `${FONT_SIZE}px ${family}`,
    grid: { stroke: grid, width: 1 },
    ticks: { show: false },
  }
  return {
    width,
    height: HEIGHT,
    cursor: { drag: { x: false, y: false }, y: false },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(4, most * 1.1)] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 70,
        size: 32,
        values: (_, at) => at.map((seconds) => days.format(seconds * 1000)),
      },
      {
        ...axis,
        size: 56,
        // Counts are whole numbers.
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000],
        values: (_, at) => at.map((count) => count.toLocaleString(locale())),
      },
    ],
    series: [
      {
        value: (_, seconds: number | null) => (seconds === null ? '' : days.format(seconds * 1000)),
      },
      {
        label,
        stroke: line,
        fill,
        width: 2,
        points: { show: false },
        value: (_, count: number | null) => (count === null ? '' : count.toLocaleString(locale())),
      },
    ],
    legend: { show: false },
  }
}

/** A line of counts by day or week. */
export const TrendChart = ({ trend, summary, label }: TrendChartProps) => {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { current: element } = box
    if (element === null) return
    const data: UPlot.AlignedData = [
      trend.points.map(({ at }) => Date.parse(at) / 1000),
      trend.points.map(({ value }) => value),
    ]
    let plot: UPlot | null = null
    const draw = () => {
      plot?.destroy()
      plot = new UPlot(optionsFor(element.clientWidth, label), data, element)
    }
    draw()
    const sizes = new ResizeObserver(() =>
      plot?.setSize({ width: element.clientWidth, height: HEIGHT }),
    )
    sizes.observe(element)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', draw)
    return () => {
      sizes.disconnect()
      scheme.removeEventListener('change', draw)
      plot?.destroy()
    }
  }, [trend, label])
  return <div ref={box} class="chart" role="img" aria-label={summary} />
}

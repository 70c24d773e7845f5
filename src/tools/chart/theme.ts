import type { Config } from 'vega-lite'

/** Sans-serif fonts; most systems have at least one of them. A generic family alone may be rendered in any font. */
export const families = ['Helvetica', 'Arial', 'Liberation Sans', 'Noto Sans', 'DejaVu Sans', 'Inter', 'Roboto', 'Open Sans']

const ink = '#1f2937'
const muted = '#4b5563'
const line = '#e5e7eb'

/** Default look of charts. The `config` of a specification overrides each value. */
export const theme: Config = {
  background: 'white',
  padding: 16,
  // Font names have no quotes, because the PNG renderer does not find quoted font names.
  font: [...families, 'sans-serif'].join(', '),
  view: { continuousWidth: 480, continuousHeight: 300, discreteHeight: { step: 28 }, discreteWidth: { step: 40 }, stroke: null },
  title: {
    anchor: 'start',
    fontSize: 16,
    fontWeight: 'bold',
    color: ink,
    offset: 14,
    subtitleColor: muted,
    subtitleFontSize: 12,
    subtitlePadding: 5,
  },
  axis: {
    labelFontSize: 11,
    labelColor: muted,
    labelPadding: 5,
    labelLimit: 220,
    titleFontSize: 12,
    titleColor: ink,
    titleFontWeight: 'normal',
    titlePadding: 10,
    gridColor: line,
    domainColor: '#9ca3af',
    tickColor: '#9ca3af',
    tickSize: 4,
  },
  axisQuantitative: { domain: false, ticks: false },
  axisYQuantitative: { tickCount: 6 },
  axisBand: { grid: false },
  legend: {
    labelFontSize: 11,
    labelColor: muted,
    titleFontSize: 12,
    titleColor: ink,
    titleFontWeight: 'normal',
    labelLimit: 220,
    symbolLimit: 40,
    symbolSize: 80,
  },
  header: { labelFontSize: 12, labelColor: ink, titleFontSize: 12, titleColor: ink, titleFontWeight: 'normal', labelFontWeight: 'bold' },
  // The palette of Okabe and Ito, distinguishable for colour-blind people, with the blue first.
  range: { category: ['#2f6fb7', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#8b6cc1', '#7a7a7a', '#c9b800', '#3c4f76'] },
  mark: { color: '#2f6fb7' },
  bar: { cornerRadiusEnd: 2 },
  line: { strokeWidth: 2.25 },
  area: { opacity: 0.85 },
  point: { filled: true, size: 45 },
  arc: { stroke: 'white', strokeWidth: 1 },
  scale: { barBandPaddingInner: 0.25, bandPaddingOuter: 0.15 },
}

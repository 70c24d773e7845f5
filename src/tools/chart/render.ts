import { Resvg } from '@resvg/resvg-js'
import * as vega from 'vega'
import { parse, View, type Spec } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import { readDelimited, ChartFault, namesPrototype, readSpecification, type Json } from './specification.ts'
import { expressions } from './expressions.ts'
import { checkFields } from './fields.ts'
import { themeFor, textWidth, families } from './theme.ts'

export interface ChartRequest {
  /** JSON text: `{spec, rows?}`. */
  text: string
  svg: boolean
  png: boolean
}

export interface Picture {
  bytes: Uint8Array
  /** Pixels. */
  width: number
  height: number
}

export interface Chart {
  svg?: Picture
  png?: Picture
  /** Sentences for the author of the specification. */
  warnings: string[]
}

/** Scale of a PNG, for screens with two device pixels per pixel. */
const pngScale = 2
/** Maximum pixels of a PNG, which take 64 MB during rendering. */
const maxPixels = 16_000_000
const maxSvgCharacters = 30_000_000
const maxWarnings = 10

/** Draws a chart from the request alone. Throws `ChartFault`, or errors of Vega. */
export async function drawChart({ text, svg, png }: ChartRequest, font: string | undefined): Promise<Chart> {
  if (namesPrototype(text))
    throw new ChartFault('Neither the specification nor a row can have a property named __proto__: choose another name.')
  const { spec: input, rows } = JSON.parse(text) as { spec: Json; rows?: Json[] }
  const spec = readSpecification(input, rows)
  const messages = createMessages()
  for (const warning of checkFields(spec)) messages.warn(warning)
  const { spec: compiled } = compile(spec as unknown as TopLevelSpec, { config: themeFor(spec), logger: messages.logger })
  const svgText = await toSvg(compiled, messages)
  const { width, height } = sizeOf(svgText)
  const warnings = messages
    .warnings()
    .filter((warning) => !isNoise(warning, text))
    .slice(0, maxWarnings)
  return {
    ...(svg && { svg: { bytes: Buffer.from(svgText), width, height } }),
    ...(png && { png: toPng(svgText, width * height, font) }),
    warnings,
  }
}

/** A box plot without outliers has an empty layer, for which Vega warns. */
function isNoise(warning: string, text: string): boolean {
  return warning.startsWith('Infinite extent') && text.includes('"boxplot"')
}

async function toSvg(compiled: Spec, messages: Messages): Promise<string> {
  const runtime = parse(compiled, undefined, { ast: true })
  const view = new View(runtime, { renderer: 'none', loader: denyingLoader, logger: messages.logger, expr: expressions } as never)
  try {
    const svg = await view.toSVG()
    messages.throwError()
    if (svg.length > maxSvgCharacters) throw new ChartFault('The chart has too many marks to be drawn: aggregate or sample its data.')
    refuseAddresses(svg)
    return svg
  } finally {
    view.finalize()
  }
}

const inlineImage = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/

/** Loader which loads nothing. An image may be inline in the data; links are removed. */
const denyingLoader = {
  options: {},
  load: refuse,
  sanitize: (address: unknown, { context }: { context?: string } = {}) => {
    if (context !== 'image') return Promise.resolve({ href: null })
    return typeof address === 'string' && inlineImage.test(address) ? Promise.resolve({ href: address }) : refuse()
  },
  http: refuse,
  file: refuse,
  fileAccess: false,
}

function refuse(): Promise<never> {
  return Promise.reject(new Error('A chart cannot load anything.'))
}

/**
 * Vega writes colours, fonts and images into attributes unchanged. An attribute could contain an address, which the viewer of the picture would
 * request, or a file, which the PNG renderer would read.
 */
function refuseAddresses(svg: string): void {
  for (const [tag] of svg.matchAll(/<[^>]*>/g)) {
    const [, address] = /\s(?:xlink:)?href="([^"]*)"/.exec(tag) ?? []
    const isInline = address === undefined || address.startsWith('#') || inlineImage.test(address)
    const otherAttributes = tag.replace(/\s(?:xlink:href|href|aria-label|aria-roledescription)="[^"]*"/g, '')
    if (!isInline || /url\(\s*(?!#)|@import|image-set\(/i.test(otherAttributes)) {
      throw new ChartFault(
        'The specification contains an address, which a chart cannot use. An image must be a data: URL such as data:image/png;base64,...',
      )
    }
  }
}

function sizeOf(svg: string): { width: number; height: number } {
  const [, width, height] = /^<svg[^>]*? width="([\d.e+]+)" height="([\d.e+]+)"/.exec(svg) ?? []
  if (!(Number(width) >= 1 && Number(height) >= 1)) throw new ChartFault('The chart has no size: its width or height is 0.')
  const [w, h] = [Math.round(Number(width)), Math.round(Number(height))]
  if (w * h > maxPixels)
    throw new ChartFault(
      `The chart would have ${w} × ${h} pixels, but at most ${maxPixels / 1_000_000} million are allowed. Make the chart smaller, or show fewer categories.`,
    )
  return { width: w, height: h }
}

function toPng(svg: string, pixels: number, font: string | undefined): Picture {
  const scale = Math.min(pngScale, Math.sqrt(maxPixels / pixels))
  const image = new Resvg(svg, {
    fitTo: { mode: 'zoom', value: scale },
    font: { ...systemFonts, ...(font && { defaultFontFamily: font }) },
  }).render()
  return { bytes: image.asPng(), width: image.width, height: image.height }
}

/** Fallback font for text with a missing font. Undefined if no font is installed: a PNG then has no text, without any error of the renderer. */
export function findFont(): string | undefined {
  const fallbackWidth = widthIn('no such font')
  if (fallbackWidth === undefined) return undefined
  return families.find((family) => widthIn(family) !== fallbackWidth) ?? families[0]
}

/** Font folders are named because without fontconfig, as in small images, only named folders are searched. */
const systemFonts = { loadSystemFonts: true, fontDirs: ['/usr/share/fonts', '/usr/local/share/fonts'] }

function widthIn(family: string): number | undefined {
  const text = `<text y="90" font-size="90" font-family="${family}">Hamburgefonstiv 0123</text>`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="99">${text}</svg>`
  return new Resvg(svg, { font: systemFonts }).getBBox()?.width
}

type Messages = ReturnType<typeof createMessages>

/** Collects messages of Vega and Vega-Lite, which would otherwise go to the console. */
function createMessages() {
  const warnings = new Set<string>()
  let failure: string | undefined
  const toText = (parts: readonly unknown[]) => parts.map((part) => (part instanceof Error ? part.message : String(part))).join(' ')
  const silent = () => logger
  const logger = {
    level: () => 1,
    error(...parts: readonly unknown[]) {
      failure ??= toText(parts)
      return logger
    },
    warn(...parts: readonly unknown[]) {
      if (warnings.size < 100) warnings.add(toText(parts).slice(0, 400))
      return logger
    },
    info: silent,
    debug: silent,
  }
  return {
    logger: logger as never,
    warn: (text: string) => void warnings.add(text),
    warnings: () => [...warnings],
    throwError() {
      if (failure !== undefined) throw new ChartFault(`The chart cannot be drawn: ${failure}`)
    },
  }
}

/** Exports of Vega missing in its types. */
interface Untyped {
  textMetrics: object
  formats(name: string, reader: (text: string, format: { delimiter?: string }) => unknown): void
}

/** Replaces text measurement and table parsing of Vega, so that neither a canvas nor generated code is needed. Call once per process. */
export function setUp(): void {
  const { formats, textMetrics } = vega as unknown as Untyped
  Object.assign(textMetrics, {
    width: (item: { fontSize?: number; fontWeight?: unknown; limit?: number }, text: unknown) =>
      textWidth(String(text ?? ''), item.fontSize ?? 11, /bold|[6-9]00/.test(String(item.fontWeight ?? ''))),
  })
  for (const [name, delimiter] of [
    ['csv', ','],
    ['tsv', '\t'],
  ] as const)
    formats(name, readDelimited(delimiter))
  formats('dsv', (text: string, { delimiter = ',' }: { delimiter?: string }) => readDelimited(delimiter)(text))
}

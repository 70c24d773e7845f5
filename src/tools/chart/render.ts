import { Resvg } from '@resvg/resvg-js'
import * as vega from 'vega'
import { parse, View, type Spec } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import { readDelimited } from './delimited.ts'
import { expressions } from './expressions.ts'
import { checkFields } from './fields.ts'
import { themeFor } from './fit.ts'

import { ChartFault, namesPrototype, readSpecification, type Json } from './specification.ts'
import { textWidth } from './text-width.ts'
import { families } from './theme.ts'

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
  /** Sentences for who wrote the specification. */
  warnings: string[]
}

/** Pixels of a PNG for each of the chart's: most screens have so many. */
const sharpness = 2
/** 64 MB while it is drawn. */
const maxPixels = 16_000_000
const maxSvgCharacters = 30_000_000
const maxWarnings = 10

/** Draws a chart from nothing but what it is given. Throws `ChartFault`, or what Vega throws. */
export async function drawChart({ text, svg, png }: ChartRequest, font: string | undefined): Promise<Chart> {
  if (namesPrototype(text))
    throw new ChartFault('Neither the specification nor a row can have a property named __proto__: choose another name.')
  const { spec: given, rows } = JSON.parse(text) as { spec: Json; rows?: Json[] }
  const spec = readSpecification(given, rows)
  const messages = createMessages()
  for (const warning of checkFields(spec)) messages.warn(warning)
  const { spec: compiled } = compile(spec as unknown as TopLevelSpec, { config: themeFor(spec), logger: messages.logger })
  const drawn = await toSvg(compiled, messages)
  const { width, height } = sizeOf(drawn)
  const warnings = messages
    .told()
    .filter((warning) => !isNoise(warning, text))
    .slice(0, maxWarnings)
  return {
    ...(svg && { svg: { bytes: Buffer.from(drawn), width, height } }),
    ...(png && { png: toPng(drawn, width * height, font) }),
    warnings,
  }
}

/** A box plot without outliers has a layer without data. */
function isNoise(warning: string, text: string): boolean {
  return warning.startsWith('Infinite extent') && text.includes('"boxplot"')
}

async function toSvg(compiled: Spec, messages: Messages): Promise<string> {
  const runtime = parse(compiled, undefined, { ast: true })
  const view = new View(runtime, { renderer: 'none', loader: nothing, logger: messages.logger, expr: expressions } as never)
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

const ownImage = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/

/** What a chart may load: nothing. An image may be part of its data; a link leads nowhere. */
const nothing = {
  options: {},
  load: refuse,
  sanitize: (address: unknown, { context }: { context?: string } = {}) => {
    if (context !== 'image') return Promise.resolve({ href: null })
    return typeof address === 'string' && ownImage.test(address) ? Promise.resolve({ href: address }) : refuse()
  },
  http: refuse,
  file: refuse,
  fileAccess: false,
}

function refuse(): Promise<never> {
  return Promise.reject(new Error('A chart can load nothing.'))
}

/**
 * Colours, fonts and images are written into attributes as they are given: one could be an address, which whoever opens the picture would ask
 * for, or a file, which what draws the PNG would read.
 */
function refuseAddresses(svg: string): void {
  for (const [tag] of svg.matchAll(/<[^>]*>/g)) {
    const [, address] = /\s(?:xlink:)?href="([^"]*)"/.exec(tag) ?? []
    const isOwn = address === undefined || address.startsWith('#') || ownImage.test(address)
    const others = tag.replace(/\s(?:xlink:href|href|aria-label|aria-roledescription)="[^"]*"/g, '')
    if (!isOwn || /url\(\s*(?!#)|@import|image-set\(/i.test(others)) {
      throw new ChartFault(
        'The specification names an address. A chart can use none; an image must be data:image/png;base64,... or the like.',
      )
    }
  }
}

function sizeOf(svg: string): { width: number; height: number } {
  const [, width, height] = /^<svg[^>]*? width="([\d.e+]+)" height="([\d.e+]+)"/.exec(svg) ?? []
  if (!(Number(width) >= 1 && Number(height) >= 1)) throw new ChartFault('The chart has no size: its width or height comes out as nothing.')
  const [w, h] = [Math.round(Number(width)), Math.round(Number(height))]
  if (w * h > maxPixels)
    throw new ChartFault(
      `The chart would have ${w} × ${h} pixels; it may have ${maxPixels / 1_000_000} million. Make it smaller, or show fewer categories.`,
    )
  return { width: w, height: h }
}

function toPng(svg: string, pixels: number, font: string | undefined): Picture {
  const scale = Math.min(sharpness, Math.sqrt(maxPixels / pixels))
  const image = new Resvg(svg, {
    fitTo: { mode: 'zoom', value: scale },
    font: { ...systemFonts, ...(font && { defaultFontFamily: font }) },
  }).render()
  return { bytes: image.asPng(), width: image.width, height: image.height }
}

/** The font for text whose own font is not there; undefined where there is none at all: then a PNG has no text, and nothing says so. */
export function findFont(): string | undefined {
  const unknown = widthIn('no such font')
  if (unknown === undefined) return undefined
  return families.find((family) => widthIn(family) !== unknown) ?? families[0]
}

/** Where fontconfig is not installed, as in small images, no folder is looked into but those that are named. */
const systemFonts = { loadSystemFonts: true, fontDirs: ['/usr/share/fonts', '/usr/local/share/fonts'] }

function widthIn(family: string): number | undefined {
  const text = `<text y="90" font-size="90" font-family="${family}">Hamburgefonstiv 0123</text>`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="99">${text}</svg>`
  return new Resvg(svg, { font: systemFonts }).getBBox()?.width
}

type Messages = ReturnType<typeof createMessages>

/** What Vega and Vega-Lite say, which would go to the console. */
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
    told: () => [...warnings],
    throwError() {
      if (failure !== undefined) throw new ChartFault(`The chart can not be drawn: ${failure}`)
    },
  }
}

/** Exports that its types leave out. */
interface Untyped {
  textMetrics: object
  formats(name: string, reader: (text: string, format: { delimiter?: string }) => unknown): void
}

/** Once in a process: how text is measured, and tables are read without a program being made for each. */
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

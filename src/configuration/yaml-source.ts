import { isMap, isNode, isPair, isSeq, LineCounter, parseDocument, type Document } from 'yaml'
import { ConfigError, problemAt, type ConfigProblem, type Path } from './problems.ts'

/** A parsed YAML text that knows where things stand in it. */
export interface YamlSource {
  /** Plain data; `{}` for a text without content. */
  readonly value: unknown
  /** The line (from 1) of the value at the path, or of the nearest thing around it. */
  lineOf(at: Path): number | undefined
}

/** An alias may stand for an alias that stands for ...: what it unfolds to is bounded. */
const maxAliasCount = 100
const maxDepth = 64

/** Keys that reach into the prototype of an object that the data is merged into or looked up in. */
const dangerous: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Throws `ConfigError` for text that is no YAML. Messages repeat nothing of the text but names: it may hold secrets. */
export function readYaml(text: string): YamlSource {
  const counter = new LineCounter()
  const document = parse(text, counter)
  const faults = [...document.errors, ...document.warnings]
  if (faults.length > 0) {
    throw new ConfigError(
      faults.map(({ code, message, pos }) => ({ ...problemAt([], toSentence(code, message)), line: counter.linePos(pos[0]).line })),
    )
  }
  const value = toData(document) ?? {}
  return { value, lineOf: (at) => lineOf(document, counter, at) }
}

/** Keys that no configuration may have, wherever they stand, and values that no configuration can be made of. */
export function findDanger(value: unknown, at: Path = [], around: readonly object[] = []): ConfigProblem[] {
  if (typeof value !== 'object' || value === null) return []
  // An alias inside of its own anchor.
  if (around.includes(value)) return [problemAt(at, 'contains itself')]
  if (around.length >= maxDepth) return [problemAt(at.slice(0, 1), 'is nested too deeply')]
  const inner = [...around, value]
  if (Array.isArray(value)) return value.flatMap((item, index) => findDanger(item, [...at, index], inner))
  return Object.entries(value).flatMap(([key, child]) => [
    ...(dangerous.has(key) ? [problemAt([...at, key], `"${key}" can't be used as a name`)] : []),
    ...findDanger(child, [...at, key], inner),
  ])
}

function parse(text: string, lineCounter: LineCounter): Document.Parsed {
  try {
    return parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'error' })
  } catch (error) {
    throw whole(error instanceof RangeError ? 'it is nested too deeply' : 'it is not YAML')
  }
}

function toData(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount })
  } catch (error) {
    if (error instanceof RangeError) throw whole('it is nested too deeply')
    if (!(error instanceof ReferenceError)) throw error
    const unresolved = error.message.startsWith('Unresolved alias')
    throw whole(unresolved ? 'an alias (*name) has no anchor (&name) before it' : 'its aliases unfold to too much')
  }
}

function whole(message: string): ConfigError {
  return new ConfigError([problemAt([], message)])
}

/** The parser's own words, without the piece of source that some of them end with. */
function toSentence(code: string, message: string): string {
  if (code === 'TAG_RESOLVE_FAILED') return 'it has a tag (!name) that is not known here'
  if (code === 'BAD_ALIAS') return 'an alias (*name) is not well-formed, or has no anchor (&name) before it'
  return `it is not YAML: ${message.replace(/(:| directive) .*$/s, '')}`
}

function lineOf(document: Document, counter: LineCounter, at: Path): number | undefined {
  let node: unknown = document.contents
  let offset = startOf(node)
  for (const part of at) {
    const found = step(node, part)
    if (!found) break
    offset = startOf(found.shown) ?? offset
    node = found.node
  }
  return offset === undefined ? undefined : counter.linePos(offset).line
}

function step(node: unknown, part: string | number): { node: unknown; shown: unknown } | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(part)]
    return item === undefined ? undefined : { node: item, shown: item }
  }
  if (!isMap(node)) return undefined
  const pair = node.items.find((item) => isPair(item) && String(item.key) === String(part))
  return pair && { node: pair.value, shown: pair.key }
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined
}

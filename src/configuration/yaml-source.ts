import { isMap, isNode, isPair, isSeq, LineCounter, parseDocument, type Document } from 'yaml'
import { ConfigError, problemAt, type ConfigProblem, type Path } from './problems.ts'

/** A parsed YAML text with the lines of the values. */
export interface YamlSource {
  /** Plain data; `{}` for a text without content. */
  readonly value: unknown
  /** The line (from 1) of the value at the path, or of the nearest enclosing value. */
  lineOf(at: Path): number | undefined
}

/** Aliases of aliases grow exponentially ("billion laughs"), so the expansion is bounded. */
const maxAliasCount = 100
const maxDepth = 64

/** Keys that reach the prototype of an object in merges and lookups. */
const dangerous: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Throws `ConfigError` for invalid YAML. Messages quote only names from the text, because the text may hold secrets. */
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

/** Finds dangerous keys at any depth, cycles, and data that is nested too deeply. */
export function findDanger(value: unknown, at: Path = [], ancestors: readonly object[] = []): ConfigProblem[] {
  if (typeof value !== 'object' || value === null) return []
  // An alias may point to a value that encloses the alias.
  if (ancestors.includes(value)) return [problemAt(at, 'contains itself')]
  if (ancestors.length >= maxDepth) return [problemAt(at.slice(0, 1), 'is nested too deeply')]
  const inner = [...ancestors, value]
  if (Array.isArray(value)) return value.flatMap((item, index) => findDanger(item, [...at, index], inner))
  return Object.entries(value).flatMap(([key, child]) => [
    ...(dangerous.has(key) ? [problemAt([...at, key], `"${key}" cannot be used as a key`)] : []),
    ...findDanger(child, [...at, key], inner),
  ])
}

function parse(text: string, lineCounter: LineCounter): Document.Parsed {
  try {
    return parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'error' })
  } catch (error) {
    throw toConfigError(error instanceof RangeError ? 'is nested too deeply' : 'is not valid YAML')
  }
}

function toData(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount })
  } catch (error) {
    if (error instanceof RangeError) throw toConfigError('is nested too deeply')
    if (!(error instanceof ReferenceError)) throw error
    const unresolved = error.message.startsWith('Unresolved alias')
    throw toConfigError(
      unresolved ? 'has an alias (*name) without an anchor (&name) before the alias' : 'has aliases that expand to too much data',
    )
  }
}

function toConfigError(message: string): ConfigError {
  return new ConfigError([problemAt([], message)])
}

/** The message of the parser, without the piece of source text at the end of some messages. */
function toSentence(code: string, message: string): string {
  if (code === 'TAG_RESOLVE_FAILED') return 'has an unknown tag (!name)'
  if (code === 'BAD_ALIAS') return 'has a malformed alias (*name), or an alias without an anchor (&name) before the alias'
  if (code === 'DUPLICATE_KEY') return 'is not valid YAML: this field is there twice; merge both into one'
  return `is not valid YAML: ${message.replace(/(:| directive) .*$/s, '')}`
}

function lineOf(document: Document, counter: LineCounter, at: Path): number | undefined {
  let node: unknown = document.contents
  let offset = startOf(node)
  for (const part of at) {
    const child = step(node, part)
    if (!child) break
    offset = startOf(child.label) ?? offset
    node = child.node
  }
  return offset === undefined ? undefined : counter.linePos(offset).line
}

function step(node: unknown, part: string | number): { node: unknown; label: unknown } | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(part)]
    return item === undefined ? undefined : { node: item, label: item }
  }
  if (!isMap(node)) return undefined
  const pair = node.items.find((item) => isPair(item) && String(item.key) === String(part))
  return pair && { node: pair.value, label: pair.key }
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined
}

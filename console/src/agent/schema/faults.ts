import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type Node } from 'yaml'
import { ruleOf } from './rules.ts'
import { schemasBelow, schemasFor, type Path, type SchemaNode } from './schema-node.ts'

/** A fault of the text, at its place. */
export interface Fault {
  /** Offsets in the text. */
  from: number
  to: number
  /** From 1. */
  line: number
  /** Such as `tools[2].config`; empty for the whole text. */
  path: string
  message: string
}

/** The text as a document with the places of its values. */
export interface ParsedText {
  document: Document.Parsed
  counter: LineCounter
}

const maxFaults = 100
const maxDepth = 64

export function parseText(text: string): ParsedText {
  const counter = new LineCounter()
  return { document: parseDocument(text, { lineCounter: counter, prettyErrors: false, logLevel: 'silent' }), counter }
}

/** Finds faults of the YAML, otherwise faults against the schema. The check of the service finds more, such as tools that do not work. */
export function findFaults({ document, counter }: ParsedText, root: SchemaNode): Fault[] {
  const faults: Fault[] = []
  const add = (path: Path, message: string, from: number, to: number): void => {
    if (faults.length < maxFaults) faults.push({ from, to, line: counter.linePos(from).line, path: formatPath(path), message })
  }
  for (const { message, pos } of [...document.errors, ...document.warnings]) add([], `is not valid YAML: ${message}`, pos[0], pos[1])
  if (faults.length > 0) return faults
  const data = toData(document)
  check(document.contents, data, schemasFor(root, data, root), [], undefined, 0)
  return faults.sort((a, b) => a.from - b.from)

  function check(node: Node | null, value: unknown, schemas: SchemaNode[], path: Path, label: Node | undefined, depth: number): void {
    const place = rangeOf(isScalar(node) && node.range![1] > node.range![0] ? node : (label ?? node))
    for (const message of new Set(schemas.flatMap((schema) => ruleOf(schema, value) ?? []))) add(path, message, ...place)
    if (typeof value !== 'object' || value === null || depth > maxDepth) return
    const target = isAlias(node) ? (node.resolve(document) ?? null) : node
    if (isMap(target)) {
      const known = toNames(schemas)
      for (const name of missingOf(schemas, value)) add([...path, name], 'is required but missing', ...place)
      for (const { key, value: child } of target.items) {
        const name = String(isScalar(key) ? key.value : key)
        const below = schemasBelow(schemas, name, (value as Record<string, unknown>)[name], root)
        const at = [...path, name]
        if (isUnknown(schemas, name, below)) add(at, unknownMessage(known), ...rangeOf(key as Node))
        check(child as Node | null, (value as Record<string, unknown>)[name], below, at, key as Node, depth + 1)
      }
    }
    if (isSeq(target)) {
      for (const [index, item] of target.items.entries()) {
        const child = (value as unknown[])[index]
        check(item as Node | null, child, schemasBelow(schemas, index, child, root), [...path, index], item as Node, depth + 1)
      }
    }
  }
}

/** The place of a path in the text: its key or list entry, or that of the nearest value around. */
export function rangeAt({ document }: ParsedText, path: Path): [from: number, to: number] {
  let node: unknown = document.contents
  let range: [number, number] = [0, 0]
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(part))
      if (!pair) break
      range = rangeOf(pair.key as Node)
      node = pair.value
    } else if (isSeq(node) && node.items[Number(part)] !== undefined) {
      node = node.items[Number(part)]
      range = rangeOf(node as Node)
    } else break
  }
  return range
}

/** `['tools', 2, 'config']` as `tools[2].config`, as the service writes paths. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    if (!/^[A-Za-z_][\w-]*$/.test(part)) return `${text}[${JSON.stringify(part)}]`
    return text === '' ? part : `${text}.${part}`
  }, '')
}

function toData(document: Document.Parsed): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 }) ?? {}
  } catch {
    return undefined
  }
}

function rangeOf(node: Node | null | undefined): [from: number, to: number] {
  const [from, to] = node?.range ?? [0, 0]
  return [from, to]
}

function toNames(schemas: readonly SchemaNode[]): string[] {
  return schemas
    .filter(({ additionalProperties }) => additionalProperties === false)
    .flatMap(({ properties }) => Object.keys(properties ?? {}))
}

function missingOf(schemas: readonly SchemaNode[], value: object): string[] {
  return [...new Set(schemas.flatMap(({ required = [] }) => required))].filter((name) => !Object.hasOwn(value, name))
}

/** A field is unknown if a schema is closed and does not describe it. */
function isUnknown(schemas: readonly SchemaNode[], name: string, below: readonly SchemaNode[]): boolean {
  return (
    schemas.some((schema) => {
      const { additionalProperties, properties = {}, patternProperties = {} } = schema
      if (additionalProperties !== false) return false
      const isMatching = Object.keys(patternProperties).some((pattern) => new RegExp(pattern, 'u').test(name))
      return !Object.hasOwn(properties, name) && !isMatching
    }) ||
    (below.length === 0 && schemas.length > 0 && schemas.every(({ patternProperties }) => patternProperties !== undefined))
  )
}

function unknownMessage(known: readonly string[]): string {
  return known.length > 0 ? `is not a known field; known fields are ${known.join(', ')}` : 'is not a known field'
}

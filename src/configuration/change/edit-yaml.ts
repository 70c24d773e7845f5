import { isDeepStrictEqual } from 'node:util'
import {
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  parseDocument,
  stringify,
  visit,
  type Document,
  type Node,
  isCollection,
  type Pair,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import { ConfigError } from '../problems.ts'
import { readYaml } from '../yaml-source.ts'
import { elementsBefore, ownValue, type ConfigData } from './merge.ts'
import { isObject } from '../../json/shape.ts'

/**
 * `text` with the content `after` in place of `before`. Splicing lines is a best effort. If a splice is refused or wrong, the document is
 * edited, which keeps comments but may reformat, and which replaces aliases by values. Every result is read back, so a wrong edit is never
 * returned. The last resort is to write the whole text again, without comments.
 */
export function editYaml(text: string, before: ConfigData, after: ConfigData): string {
  for (const edit of [spliceYaml, editDocument]) {
    const result = edit(text, before, after)
    if (result !== undefined && holds(result, after)) return result
  }
  return stringify(after, { lineWidth: 0 })
}

function holds(text: string, content: ConfigData): boolean {
  try {
    return isDeepStrictEqual(readYaml(text).value, content)
  } catch (error) {
    if (error instanceof ConfigError) return false
    throw error
  }
}

function editDocument(text: string, before: ConfigData, after: ConfigData): string {
  const document: Document = parseDocument(text)
  // A changed anchor would change every alias of the anchor.
  visit(document, { Alias: (_, alias) => document.createNode(alias.toJS(document)) })
  visit(document, { Collection: (_, node) => void delete node.anchor, Scalar: (_, node) => void delete node.anchor })
  document.contents = update(document, document.contents, before, after)
  return document.toString({
    lineWidth: 0,
    flowCollectionPadding: !/[{[]\w/.test(text.replace(/^[^\S\n]*#.*$/gm, '')),
    indentSeq: !/^([^\S\n]*)[^\s#-].*:[ \t]*\n\1- /m.test(text),
  })
}

function update(document: Document, node: unknown, before: unknown, after: unknown): Node {
  if (isNode(node) && isDeepStrictEqual(before, after)) return node
  if (isMap(node) && isObject(before) && isObject(after)) {
    const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
    node.items = node.items.filter((pair) => !removed.includes(keyOf(pair)))
    for (const [key, value] of Object.entries(after)) {
      const pair = node.items.find((item) => keyOf(item) === key)
      if (pair) pair.value = isSame(before, after, key) ? pair.value : update(document, pair.value, ownValue(before, key), value)
      else node.items.push(document.createPair(key, value))
    }
    return node
  }
  if (isSeq(node) && Array.isArray(before) && Array.isArray(after)) {
    const oldIndexes = elementsBefore(before, after)
    node.items = after.map((value, index) => {
      const oldIndex = oldIndexes[index]
      if (oldIndex === undefined) return document.createNode(value)
      return update(document, node.items[oldIndex], before[oldIndex], value)
    })
    return node
  }
  return replace(document, node, after)
}

/** Creates a node for `value` with the style and the comments of `node`. */
function replace(document: Document, node: unknown, value: unknown): Node {
  const newNode = document.createNode(value)
  if (!isNode(node)) return newNode
  const isText = typeof value === 'string' && isScalar(node) && typeof node.value === 'string'
  if (isText && isScalar(newNode) && node.type) newNode.type = node.type
  if (node.commentBefore != null) newNode.commentBefore = node.commentBefore
  if (node.comment != null) newNode.comment = node.comment
  if (node.spaceBefore) newNode.spaceBefore = true
  return newNode
}

function isSame(before: ConfigData, after: ConfigData, key: string): boolean {
  return Object.hasOwn(before, key) && isDeepStrictEqual(before[key], after[key])
}

interface Splice {
  start: number
  end: number
  text: string
}

/**
 * `text` with the content `after`, in which only changed lines are written again. Undefined when splicing is impossible. The result is a best
 * effort and may have another content, so the caller reads the result back.
 */
function spliceYaml(text: string, before: ConfigData, after: ConfigData): string | undefined {
  const document = parseDocument(text)
  if (!isMap(document.contents)) return undefined
  try {
    const splices = spliceNode(text, document.contents, before, after).sort((a, b) => b.start - a.start)
    return splices.reduce((whole, { start, end, text: part }) => whole.slice(0, start) + part + whole.slice(end), text)
  } catch (error) {
    if (error instanceof NotSpliced) return undefined
    throw error
  }
}

class NotSpliced extends Error {}

function spliceNode(text: string, node: unknown, before: unknown, after: unknown): Splice[] {
  if (isDeepStrictEqual(before, after)) return []
  if (isMap(node) && isObject(before) && isObject(after)) {
    if (!node.flow) return spliceMap(text, node, before, after)
    if (hasSameKeys(before, after)) return spliceFlow(text, node, before, after)
  }
  if (isSeq(node) && !node.flow && Array.isArray(before) && Array.isArray(after)) return spliceSeq(text, node, before, after)
  if (!isNode(node) || (isCollection(node) && !node.flow)) throw new NotSpliced()
  return [spliceInline(text, node, after)]
}

function spliceMap(text: string, map: YAMLMap, before: ConfigData, after: ConfigData): Splice[] {
  const pairs = map.items.filter(isPair)
  // An empty block has no YAML form.
  if (Object.keys(after).length === 0 || pairs.length === 0) throw new NotSpliced()
  const changed = pairs.flatMap((pair) => {
    const key = keyOf(pair)
    if (!Object.hasOwn(after, key)) return [cut(text, pair.key, pair)]
    const [oldValue, newValue] = [ownValue(before, key), ownValue(after, key)]
    if (isDeepStrictEqual(oldValue, newValue)) return []
    try {
      return spliceNode(text, pair.value, oldValue, newValue)
    } catch (error) {
      if (!(error instanceof NotSpliced)) throw error
      return [replacePair(text, pair, newValue)]
    }
  })
  const added = Object.keys(after).filter((key) => !Object.hasOwn(before, key))
  const [first, last] = [pairs[0]!, pairs.at(-1)!]
  if (added.length === 0) return changed
  const block = stringify(Object.fromEntries(added.map((key) => [key, after[key]])), { lineWidth: 0 })
  return [...changed, insert(text, endOf(last), block, columnOf(text, startOf(first.key)))]
}

/** Splices the values of a mapping in flow style (`{ a: 1 }`). */
function spliceFlow(text: string, map: YAMLMap, before: ConfigData, after: ConfigData): Splice[] {
  return map.items.filter(isPair).flatMap((pair) => {
    const key = keyOf(pair)
    const [oldValue, newValue] = [ownValue(before, key), ownValue(after, key)]
    if (isDeepStrictEqual(oldValue, newValue)) return []
    if (!isNode(pair.value)) throw new NotSpliced()
    const hasOldKeys = isObject(oldValue) && isObject(newValue) && hasSameKeys(oldValue, newValue)
    if (isMap(pair.value) && hasOldKeys) return spliceFlow(text, pair.value, oldValue, newValue)
    return [spliceInline(text, pair.value, newValue, true)]
  })
}

function hasSameKeys(before: ConfigData, after: ConfigData): boolean {
  return isDeepStrictEqual(Object.keys(before).sort(), Object.keys(after).sort())
}

function spliceSeq(text: string, seq: YAMLSeq, before: readonly unknown[], after: readonly unknown[]): Splice[] {
  const oldIndexes = elementsBefore(before, after)
  const keptIndexes = oldIndexes.filter((index) => index !== undefined)
  const appended = oldIndexes.length - keptIndexes.length
  const isInOrder =
    keptIndexes.every((index, at) => at === 0 || index > keptIndexes[at - 1]!) &&
    oldIndexes.slice(0, keptIndexes.length).every((index) => index !== undefined)
  if (!isInOrder || after.length === 0 || seq.items.length === 0) throw new NotSpliced()
  const changed = seq.items.flatMap((item, index) => {
    const newIndex = oldIndexes.indexOf(index)
    return newIndex === -1 ? [cut(text, item, item)] : spliceNode(text, item, before[index], after[newIndex])
  })
  if (appended === 0) return changed
  const block = stringify(after.slice(keptIndexes.length), { lineWidth: 0 })
  const lineStart = text.lastIndexOf('\n', startOf(seq.items[0]) - 1) + 1
  const column = text.slice(lineStart).search(/\S/)
  return [...changed, insert(text, endOf(seq.items.at(-1)), block, column)]
}

/** Replaces a scalar or a flow collection. The rest of the line, such as a comment, stays. */
function spliceInline(text: string, node: Node, value: unknown, isInFlow = false): Splice {
  const [start, end] = [startOf(node), endOf(node)]
  const isBlock = isScalar(node) && (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED')
  if (start === end || isBlock) throw new NotSpliced()
  const style = { lineWidth: 0, collectionStyle: 'flow', flowCollectionPadding: /^[{[]\s/.test(text.slice(start, end)) } as const
  // Inside of brackets more characters need quotes.
  const written = isInFlow
    ? stringify([value], { ...style, flowCollectionPadding: false })
        .trimEnd()
        .slice(1, -1)
    : stringify(value, style).trimEnd()
  if (written.includes('\n')) throw new NotSpliced()
  return { start, end, text: written }
}

function replacePair(text: string, pair: Pair, value: unknown): Splice {
  const start = startOf(pair.key)
  const written = indent(stringify({ [keyOf(pair)]: value }, { lineWidth: 0 }), columnOf(text, start)).trimStart()
  const end = endOf(pair)
  return { start, end, text: text.slice(start, end).endsWith('\n') ? written : written.trimEnd() }
}

/** Removes all lines from the first to the last node. */
function cut(text: string, first: unknown, last: unknown): Splice {
  const start = text.lastIndexOf('\n', startOf(first) - 1) + 1
  if (!/^\s*(?:- )?$/.test(text.slice(start, startOf(first)))) throw new NotSpliced()
  return { start, end: lineEnd(text, endOf(last)), text: '' }
}

/** Inserts lines after the line at `offset`, and after comments that are indented deeper than `column`. */
function insert(text: string, offset: number, block: string, column: number): Splice {
  let at = lineEnd(text, offset)
  while (commentAt(text, at) > column) at = lineEnd(text, at + 1)
  const lines = indent(block, column)
  return { start: at, end: at, text: at > 0 && text[at - 1] !== '\n' ? `\n${lines}` : lines }
}

/** The column of the comment on a comment-only line; -1 on other lines. */
function commentAt(text: string, lineStart: number): number {
  const [, blank] = /^( *)#/.exec(text.slice(lineStart, lineStart + maxColumn)) ?? []
  return blank === undefined ? -1 : blank.length
}

const maxColumn = 200

function lineEnd(text: string, at: number): number {
  if (at > 0 && text[at - 1] === '\n') return at
  const end = text.indexOf('\n', at)
  return end === -1 ? text.length : end + 1
}

function startOf(node: unknown): number {
  if (!isNode(node) || !node.range) throw new NotSpliced()
  return node.range[0]
}

/** The offset after the last character of the content. */
function endOf(part: unknown): number {
  if (isPair(part)) return isNode(part.value) ? endOf(part.value) : endOf(part.key)
  if (isCollection(part) && !part.flow && part.items.length > 0) return endOf(part.items.at(-1))
  if (!isNode(part) || !part.range) throw new NotSpliced()
  return part.range[1]
}

function columnOf(text: string, at: number): number {
  return at - (text.lastIndexOf('\n', at - 1) + 1)
}

function indent(block: string, columns: number): string {
  return block.replace(/^(?=.)/gm, ' '.repeat(columns))
}

function keyOf({ key }: Pair): string {
  return String(isScalar(key) ? key.value : key)
}

import { isDeepStrictEqual } from 'node:util'
import { isMap, isNode, isPair, isScalar, isSeq, parseDocument, stringify, visit, type Document, type Node } from 'yaml'
import { ConfigError } from '../problems.ts'
import { readYaml } from '../yaml-source.ts'
import { elementsBefore } from './elements.ts'
import { ownValue, type ConfigData } from './merge.ts'
import { spliceYaml } from './splice-yaml.ts'
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
    node.items = node.items.filter((pair) => !removed.includes(keyOf(pair) ?? ''))
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

function keyOf(pair: unknown): string | undefined {
  const key = isPair(pair) ? pair.key : undefined
  return key === undefined || key === null ? undefined : String(isScalar(key) ? key.value : key)
}

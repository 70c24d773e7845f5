import { DOMParser } from 'linkedom'
import { checkDepth } from './nesting.ts'

/** An element, a text or something else of an XML document. */
export interface XmlNode {
  nodeType: number
  /** With its prefix. */
  tagName?: string
  textContent: string | null
  childNodes: Iterable<XmlNode>
  getAttribute?(name: string): string | null
}

/** Entities of a document type are not expanded. Throws for a text without an element, and for elements that are nested too deeply. */
export function parseXml(text: string): XmlNode {
  checkDepth(text, { isXml: true })
  const root = new DOMParser().parseFromString(text, 'text/xml').documentElement as XmlNode | null
  if (!root) throw new Error('a part of it is not XML')
  return root
}

/** The name of an element without its prefix. Empty for any other node. */
export function nameOf(node: XmlNode): string {
  return node.nodeType === 1 ? (node.tagName ?? '').slice((node.tagName ?? '').lastIndexOf(':') + 1) : ''
}

export function isText(node: XmlNode): boolean {
  return node.nodeType === 3 || node.nodeType === 4
}

export function attributeOf(node: XmlNode, name: string): string {
  return node.getAttribute?.(name) ?? ''
}

/** The elements below `node` with one of the names, in the order of the document, without those inside another. */
export function elementsOf(node: XmlNode, ...names: string[]): XmlNode[] {
  return [...node.childNodes].flatMap((child) => (names.includes(nameOf(child)) ? [child] : elementsOf(child, ...names)))
}

/** The text of the first element with the name, or an empty text. */
export function textOf(node: XmlNode, name: string): string {
  return elementsOf(node, name)[0]?.textContent?.trim() ?? ''
}

import { readFileSync } from 'node:fs'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { parse } from 'yaml'
import { parseInfo, type Block } from './block.ts'

/** Documentation page with what the runner needs of it. */
export interface Page {
  /** Path relative to the checkout, such as `docs/guides/files.md`. */
  name: string
  blocks: Block[]
  /** False for `service: none`, and for pages without commands. */
  needsService: boolean
  /** Parts that the page asks for, such as `postgres`. */
  needs: string[]
  /** Environment of the service. */
  environment: Record<string, string>
}

interface Frontmatter {
  service?: string
  needs?: string[]
  env?: Record<string, string | number | boolean>
}

type Node = ReturnType<typeof fromMarkdown>['children'][number]

/** Fault of a page, with its place. */
export class PageFault extends Error {}

export function readPage(file: string, name: string): Page {
  return parsePage(readFileSync(file, 'utf8'), name)
}

/** Throws a `PageFault` for a block that breaks the rules. */
export function parsePage(text: string, name: string): Page {
  const [whole = '', header = ''] = /^---\n(.*?)\n---\n/s.exec(text) ?? []
  const { service, needs = [], env = {} } = (parse(header) ?? {}) as Frontmatter
  // The blank lines keep the line numbers.
  const body = whole.replace(/[^\n]/g, '') + text.slice(whole.length)
  const blocks = fromMarkdown(body).children.flatMap((node) => toBlocks(node, name))
  const environment = Object.fromEntries(Object.entries(env).map(([key, value]) => [key, String(value)]))
  return { name, blocks, needsService: service !== 'none' && blocks.some(({ action }) => action === 'run'), needs, environment }
}

function toBlocks(node: Node, page: string): Block[] {
  const line = node.position?.start.line ?? 0
  if (node.type === 'code') {
    try {
      return [{ ...parseInfo(node.lang ?? '', node.meta ?? ''), line: line + 1, content: node.value, isHidden: false }]
    } catch (error) {
      throw new PageFault(`${page}:${line}  ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  if (node.type === 'html') return toSetup(node.value, line)
  return 'children' in node ? node.children.flatMap((child) => toBlocks(child as Node, page)) : []
}

/** `<!-- setup ... -->` is a block of commands that readers do not see. */
function toSetup(html: string, line: number): Block[] {
  const [, content] = /^<!--\s*setup\n(.*?)-->/s.exec(html) ?? []
  if (content === undefined) return []
  return [{ line: line + 1, language: 'sh', content, action: 'run', mustFail: false, isContinued: false, isHidden: true }]
}

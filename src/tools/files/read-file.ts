import type { JsonObject } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { createDocumentCache, type DocumentCache } from '../../files/document-cache.ts'
import { createPatterns } from '../../files/patterns.ts'
import { maxPath, type FilesRoot } from '../../files/root.ts'
import { createTool, toolDefaults, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'
import { createFileAccess, type FileAccess } from './file-access.ts'

const schema = {
  type: 'object',
  properties: {
    path: { type: 'string', minLength: 1, maxLength: maxPath, description: 'As list_files or a search gave it.' },
    offset: { type: 'integer', minimum: 0, description: 'Character to begin at; `next_offset` of the page before.' },
  },
  required: ['path'],
  additionalProperties: false,
}

/** What is in the output besides path and text. */
const frame = 120

/**
 * Gives `{path, text, offset, total_characters, next_offset?}`: a page that fits into the tool's output limit.
 * `config.paths` are glob patterns.
 */
export function createReadFile(spec: ToolSpec, { files }: ToolDependencies): ToolBuild {
  const patterns = createPatterns((spec.config['paths'] as string[] | undefined) ?? ['**'])
  return { tool: readTool(spec, { access: createFileAccess(files, patterns), documents: createDocumentCache() }) }
}

/** Makes tools as `read_file` that read the files named and no others. */
export function createReadOf({ files, documents }: { files: FilesRoot; documents: DocumentCache }) {
  return (name: string, names: readonly string[]): Tool => {
    const spec = { name, ...toolDefaults, config: {} }
    const access = createFileAccess(files, { globs: [], matches: (relative) => names.includes(relative) })
    return readTool(spec, { access, documents })
  }
}

function readTool(spec: ToolSpec, { access, documents }: { access: FileAccess; documents: DocumentCache }): Tool {
  async function execute(input: JsonObject, context: ToolContext) {
    const { path, absolute } = await access.locate(String(input['path']), context)
    const { text } = await documents.read(absolute, context.caller)
    const offset = Number(input['offset'] ?? 0)
    if (offset > text.length) throw new Error(`The offset ${offset} is behind the end: ${path} has ${text.length} characters.`)
    const page = toPage(text, offset, spec.maxOutputCharacters - frame - 2 * path.length)
    const next = offset + page.length
    return { path, text: page, offset, total_characters: text.length, ...(next < text.length ? { next_offset: next } : {}) }
  }

  return createTool(spec, {
    description:
      'Reads a file as text, page by page: text, Markdown, CSV, JSON, HTML, PDF, Word and Excel. `next_offset` leads to the next page.',
    schema,
    effect: 'read',
    filters: false,
    execute,
  })
}

/** The characters from `offset` that take at most `room` as JSON, but always some; never half of a character. */
function toPage(text: string, offset: number, room: number): string {
  let length = Math.max(room, 20)
  let page = text.slice(offset, offset + length)
  for (let taken = jsonLength(page); taken > room && length > 20; taken = jsonLength(page)) {
    length = Math.max(20, Math.min(length - 1, Math.floor((length * room) / taken)))
    page = text.slice(offset, offset + length)
  }
  const cutsPair = offset + page.length < text.length && /[\ud800-\udbff]$/.test(page)
  return cutsPair ? page.slice(0, -1) : page
}

function jsonLength(text: string): number {
  return JSON.stringify(text).length
}

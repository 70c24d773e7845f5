import type { JsonObject } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { createDocumentCache, type DocumentCache } from '../../files/document-text.ts'
import { createPatterns } from '../../files/patterns.ts'
import { maxPath, type FilesRoot } from '../../files/root.ts'
import { createTool, toolDefaults, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'
import { createFileAccess, type FileAccess } from './file-access.ts'

const schema = {
  type: 'object',
  properties: {
    path: { type: 'string', minLength: 1, maxLength: maxPath, description: 'A path from list_files or from a search result.' },
    offset: { type: 'integer', minimum: 0, description: 'Character to begin at: `next_offset` of the previous page.' },
  },
  required: ['path'],
  additionalProperties: false,
}

/** Characters of the output besides path and text. */
const frameCharacters = 120

/**
 * Returns `{path, text, offset, total_characters, next_offset?}`: a page which fits into the tool's output limit.
 * `config.paths` are glob patterns.
 */
export function createReadFile(spec: ToolSpec, { files }: ToolDependencies): ToolBuild {
  const patterns = createPatterns((spec.config['paths'] as string[] | undefined) ?? ['**'])
  return { tool: readTool(spec, { access: createFileAccess(files, patterns), documents: createDocumentCache() }) }
}

/** A document that is in memory. */
interface NamedText {
  name: string
  text: string
}

/** Returns a factory of tools like `read_file`, each of which reads only the files and texts named. */
export function createReadOf({ files, documents }: { files: FilesRoot; documents: DocumentCache }) {
  return (name: string, names: readonly string[], texts: readonly NamedText[] = []): Tool => {
    const spec = { name, ...toolDefaults, config: {} }
    const access = createFileAccess(files, { globs: [], matches: (relative) => names.includes(relative) })
    return readTool(spec, { access, documents, texts })
  }
}

interface ReadDependencies {
  access: FileAccess
  documents: DocumentCache
  texts?: readonly NamedText[]
}

function readTool(spec: ToolSpec, { access, documents, texts = [] }: ReadDependencies): Tool {
  async function read(requestedPath: string, context: ToolContext): Promise<{ path: string; text: string }> {
    const named = texts.find(({ name }) => name === requestedPath)
    if (named) return { path: named.name, text: named.text }
    const { path, absolute } = await access.locate(requestedPath, context)
    return { path, text: (await documents.read(absolute, context.caller)).text }
  }

  async function execute(input: JsonObject, context: ToolContext) {
    const { path, text } = await read(String(input['path']), context)
    const offset = Number(input['offset'] ?? 0)
    if (offset > text.length) throw new Error(`The offset ${offset} is after the end: ${path} has ${text.length} characters.`)
    const page = toPage(text, offset, spec.maxOutputCharacters - frameCharacters - 2 * path.length)
    const next = offset + page.length
    return { path, text: page, offset, total_characters: text.length, ...(next < text.length ? { next_offset: next } : {}) }
  }

  return createTool(spec, {
    description:
      'Reads a file as text, page by page: text, Markdown, CSV, JSON, HTML, PDF, Word, Excel, PowerPoint, EPUB, OpenDocument text and e-mail. `next_offset` leads to the next page.',
    schema,
    effect: 'read',
    filters: false,
    execute,
  })
}

/** The characters from `offset` which take at most `room` as JSON, but at least 20. Never splits a surrogate pair. */
function toPage(text: string, offset: number, room: number): string {
  let length = Math.max(room, 20)
  let page = text.slice(offset, offset + length)
  for (let used = jsonLength(page); used > room && length > 20; used = jsonLength(page)) {
    length = Math.max(20, Math.min(length - 1, Math.floor((length * room) / used)))
    page = text.slice(offset, offset + length)
  }
  const cutsPair = offset + page.length < text.length && /[\ud800-\udbff]$/.test(page)
  return cutsPair ? page.slice(0, -1) : page
}

function jsonLength(text: string): number {
  return JSON.stringify(text).length
}

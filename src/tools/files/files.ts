import { stat } from 'node:fs/promises'
import path from 'node:path'
import type { JsonObject } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { mediaTypeOf } from '../../artifacts/file-name.ts'
import { createDocumentCache, type DocumentCache } from '../../files/document-text.ts'
import { createPatterns, type Patterns } from '../../files/patterns.ts'
import { maxPath, type FilesRoot } from '../../files/root.ts'
import { createTool, inputSchema, toolDefaults, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'

/** The files which a tool may show in a call: the files of its patterns without files withheld by a data filter of the run. */
export interface FileAccess {
  list(context: Pick<ToolContext, 'isWithheld'>): Promise<string[]>
  /** Throws an `Error` with the reason if the file is missing, not among the files of the tool, or withheld. */
  locate(name: string, context: Pick<ToolContext, 'isWithheld'>): Promise<{ path: string; absolute: string }>
}

export function createFileAccess(files: FilesRoot, { globs, matches }: Patterns): FileAccess {
  // A link inside the root gives a file a second name. A file withheld under either name is withheld.
  function isWithheld(relative: string, absolute: string, context: Pick<ToolContext, 'isWithheld'>): boolean {
    return context.isWithheld(relative) || context.isWithheld(toRelative(files, absolute))
  }

  return {
    async list(context) {
      const readable: string[] = []
      for (const relative of await files.list(globs)) {
        const absolute = await files.resolve(relative).catch(() => undefined)
        if (absolute !== undefined && !isWithheld(relative, absolute, context)) readable.push(relative)
      }
      return readable
    },
    async locate(name, context) {
      const relative = files.normalise(name)
      if (!matches(relative)) throw new Error(`${name} is not among the files of this tool.`)
      const absolute = await files.resolve(relative)
      if (isWithheld(relative, absolute, context)) throw new Error(`${name} cannot be read: a data filter restricts it.`)
      return { path: relative, absolute }
    },
  }
}

/** The canonical name of a resolved file. */
export function toRelative(files: FilesRoot, absolute: string): string {
  return path.relative(files.path, absolute).split(path.sep).join('/')
}

const listSchema = inputSchema({
  path: { type: 'string', maxLength: maxPath, description: 'A folder, such as `handbook`; default: everything.' },
})

/** Characters of the output per file, without the name: `{"path":"","bytes":1234567},`. */
const charactersPerFile = 40

/** Returns `{files: [{path, bytes}], total}`, sorted by path, cut to the output limit. `config.paths` are glob patterns. */
export function createListFiles(spec: ToolSpec, { files }: ToolDependencies): ToolBuild {
  const access = createFileAccess(files, createPatterns((spec.config['paths'] as string[] | undefined) ?? ['**']))

  async function execute(input: JsonObject, context: ToolContext) {
    const folder = files.normalise(String(input['path'] ?? ''))
    const matches = (await access.list(context)).filter((name) => folder === '' || name === folder || name.startsWith(`${folder}/`))
    if (matches.length === 0 && folder !== '') throw new Error(`There are no files under ${folder}.`)
    const listed = []
    let room = spec.maxOutputCharacters - charactersPerFile
    for (const name of matches) {
      room -= JSON.stringify(name).length + charactersPerFile
      if (room < 0) break
      const size = await stat(await files.resolve(name)).then(
        ({ size }) => size,
        () => undefined,
      )
      if (size !== undefined) listed.push({ path: name, bytes: size })
    }
    return { files: listed, total: matches.length }
  }

  return {
    tool: createTool(spec, {
      description: 'Lists the files that can be read, with their sizes: in one folder or in all.',
      schema: listSchema,
      effect: 'read',
      execute,
    }),
  }
}

const readSchema = inputSchema(
  {
    path: { type: 'string', minLength: 1, maxLength: maxPath, description: 'A path from list_files or from a search result.' },
    offset: { type: 'integer', minimum: 0, description: 'Character to begin at: `next_offset` of the previous page.' },
  },
  ['path'],
)

/** Characters of a page of `read_file` besides path and text. */
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

/** Returns a factory of tools like `read_file`, each of which reads only the files and texts named. Texts are uploads of callers. */
export function createReadOf({ files, documents }: { files: FilesRoot; documents: DocumentCache }) {
  return (name: string, names: readonly string[], texts: readonly NamedText[] = []): Tool => {
    const trust = texts.length > 0 ? 'untrusted' : 'trusted'
    const spec = { name, ...toolDefaults, marks: { trust, private: true, outbound: false } as const, config: {} }
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
    return pageOf({ path, text }, input, spec.maxOutputCharacters)
  }

  return createTool(spec, {
    description:
      'Reads a file as text, page by page: text, Markdown, CSV, JSON, HTML, PDF, Word, Excel, PowerPoint, EPUB, OpenDocument text and e-mail. `next_offset` leads to the next page.',
    schema: readSchema,
    effect: 'read',
    execute,
  })
}

/** The page of a text from `input.offset` that fits into `room` characters of JSON. Throws for an offset after the end. */
export function pageOf({ path, text }: { path: string; text: string }, input: JsonObject, room: number): JsonObject {
  const offset = Number(input['offset'] ?? 0)
  if (offset > text.length) throw new Error(`The offset ${offset} is after the end: ${path} has ${text.length} characters.`)
  const page = toPage(text, offset, room - frameCharacters - 2 * path.length)
  const next = offset + page.length
  return { path, text: page, offset, total_characters: text.length, ...(next < text.length ? { next_offset: next } : {}) }
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

const writeSchema = inputSchema(
  {
    file_name: { type: 'string', minLength: 1, maxLength: 1000, description: 'With an extension, such as `report.md`; no folders.' },
    content: { type: 'string', description: 'The whole text of the file.' },
  },
  ['file_name', 'content'],
)

/** Returns `{artifact_id, file_name, file_type, size}`: the sanitized name, and the size in bytes of UTF-8. */
export function createWriteFile(spec: ToolSpec): ToolBuild {
  async function execute(input: JsonObject, context: ToolContext) {
    const name = String(input['file_name'])
    const { id, name: safeName, type, size } = await context.artifact(name, mediaTypeOf(name), Buffer.from(String(input['content'])))
    context.log(`Created ${safeName} (${size} bytes).`)
    return { artifact_id: id, file_name: safeName, file_type: type, size }
  }

  return {
    tool: createTool(spec, {
      description: 'Makes a text file that the user can download. Each call makes a new file: existing files are never changed.',
      schema: writeSchema,
      effect: 'write',
      execute,
    }),
  }
}

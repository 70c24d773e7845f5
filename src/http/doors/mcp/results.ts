import type { BlobResourceContents, CallToolResult, ContentBlock, Result, TextResourceContents } from '@modelcontextprotocol/server'
import type { Artifact, JsonValue } from '../../../agent/messages.ts'
import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { isOfBudget, ServiceError, toErrorBody, type ErrorBody } from '../../../errors.ts'
import { isObject } from '../../../json/shape.ts'
import type { Executed, ReturnedContent } from '../../../runs/tool-executions/tool-execution.ts'

/** Most bytes of returned files that a result embeds, for one file and in total. Larger files are links only. */
const maxContentBytes = { file: 4 * 1024 * 1024, all: 8 * 1024 * 1024 }

/**
 * Converts the result of a tool to MCP. Files become short-lived links; a file without a URL has no link. Images, audio and resources that the
 * tool returned are embedded before the links.
 */
export async function toResult({ result, returned }: Executed): Promise<CallToolResult> {
  const { output, status, generated_artifacts: files = [] } = result
  const contents = await toContents(returned)
  const links = toLinks(files)
  if (status === 'error') return { isError: true, content: [{ type: 'text', text: reasonOf(output) }, ...contents, ...links] }
  const content: ContentBlock[] = [{ type: 'text', text: textOf(output) }, ...contents, ...links]
  return isObject(output) ? { content, structuredContent: output } : { content }
}

/** Files as links; a file without a URL has none. */
export function toLinks(files: readonly AnswerFile[]): ContentBlock[] {
  return files.flatMap(({ file_name: name, file_type: mimeType, size, download_url: uri }): ContentBlock[] =>
    uri === undefined ? [] : [{ type: 'resource_link', uri, name, mimeType, size }],
  )
}

/** Most bytes of pictures in an answer, for one picture and in total: clients put the whole answer before their model. */
const maxPictureBytes = { file: 512 * 1024, all: 1024 * 1024 }

/** Embeds the small pictures of an answer, beside their links. A picture that cannot be read is only a link. */
export async function toPictures(
  files: readonly Artifact[],
  read: (file: Artifact) => Promise<Uint8Array | undefined>,
): Promise<ContentBlock[]> {
  const pictures: ContentBlock[] = []
  let total = 0
  for (const file of files) {
    if (!pictureTypes.has(file.type) || file.size > maxPictureBytes.file || total + file.size > maxPictureBytes.all) continue
    total += file.size
    const bytes = await read(file).catch(() => undefined)
    if (bytes) pictures.push({ type: 'image', mimeType: file.type, data: toBase64(bytes) })
  }
  return pictures
}

/** Pictures that models read. */
const pictureTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** Embeds returned files. A file that cannot be read any more is only a link. */
async function toContents(returned: readonly ReturnedContent[]): Promise<ContentBlock[]> {
  const contents: ContentBlock[] = []
  let total = 0
  for (const file of returned) {
    const { size } = file.artifact
    if (size > maxContentBytes.file || total + size > maxContentBytes.all) continue
    total += size
    const bytes = await file.read()
    if (bytes) contents.push(toContent(file, bytes))
  }
  return contents
}

function toContent({ artifact, uri, link }: ReturnedContent, bytes: Uint8Array): ContentBlock {
  const { type: mimeType } = artifact
  const kind = /^(image|audio)\//.exec(mimeType)?.[1]
  if (uri === undefined && (kind === 'image' || kind === 'audio')) return { type: kind, mimeType, data: toBase64(bytes) }
  return { type: 'resource', resource: toResourceContents(uri ?? link, mimeType, bytes) }
}

/** The content of a file: as text for media types that are text, otherwise in base64. */
export function toResourceContents(uri: string, mimeType: string, bytes: Uint8Array): TextResourceContents | BlobResourceContents {
  const isText = mimeType.startsWith('text/') || /[/+](json|xml|yaml)$/.test(mimeType)
  return isText ? { uri, mimeType, text: Buffer.from(bytes).toString() } : { uri, mimeType, blob: toBase64(bytes) }
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** Converts an error to a tool error, which a model can read and act upon: models repeat failed calls. */
export function toFailure(error: ErrorBody): CallToolResult {
  const { body, details } = error
  const advice = isOfBudget(error) && details?.['resets_at'] !== undefined ? ' Another call does not help before.' : ''
  return { isError: true, content: [{ type: 'text', text: `${details ? `${details.error_type}: ` : ''}${body}${advice}` }] }
}

/** Runs a tool call. Expected errors become tool errors; unexpected errors are thrown. */
export async function orFailure<T extends Result>(work: () => Promise<T>): Promise<T | CallToolResult> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError && error.code !== 'internal') return toFailure(toErrorBody(error))
    throw error
  }
}

function textOf(output: JsonValue): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}

function reasonOf(output: JsonValue): string {
  const reason = isObject(output) ? output['error'] : undefined
  return typeof reason === 'string' ? reason : textOf(output)
}

import { isDeepStrictEqual } from 'node:util'
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client'
import type { ArtifactUse } from '../../agent/artifact.ts'
import type { JsonValue } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { toLine } from '../plain-text.ts'
import { isObject } from '../../json/is-object.ts'
import { messageOf } from '../../errors.ts'

/**
 * What a call has given, for the model and the caller: its structured content, its text, or both where they differ. Bytes become files of
 * the answer, and a line says so. Throws the text of a result that is an error.
 */
export async function toOutput(result: CallToolResult, keep: ToolContext['artifact'], maxCharacters: number): Promise<JsonValue> {
  const { structuredContent: structured, isError } = result
  const lines: string[] = []
  for (const [index, block] of result.content.entries()) lines.push(await toText(block, index + 1, keep))
  const text = lines.join('\n')
  // A log keeps it whole: an error is no place for a document.
  if (isError) throw new Error(text.slice(0, maxCharacters).toWellFormed() || 'The tool failed, and did not say why.')
  if (structured === undefined) return text
  const parsed = parse(text)
  if (text === '' || isDeepStrictEqual(parsed, structured)) return structured as JsonValue
  // Servers put what is no object into one, under a name of their own.
  const [only, ...others] = isObject(structured) ? Object.values(structured) : []
  if (only !== undefined && others.length === 0 && (only === text || isDeepStrictEqual(parsed, only))) return only as JsonValue
  return { structured_content: structured as JsonValue, text }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function toText(block: ContentBlock, number: number, keep: ToolContext['artifact']): Promise<string> {
  if (block.type === 'text') return block.text
  if (block.type === 'image' || block.type === 'audio') {
    const type = toType(block.mimeType, 'application/octet-stream')
    const name = `${block.type}-${number}${endingOf(type)}`
    const file = { name, type, bytes: Buffer.from(block.data, 'base64') }
    return `[${block.type} ${await keepFile(keep, file, { isReturned: true })}]`
  }
  if (block.type === 'resource_link') {
    const about = [block.title ?? block.name, block.mimeType, block.description].filter((part) => part !== undefined && part !== '')
    return `[resource ${shown(block.uri)}: ${toLine(about.join(', '), 300)}]`
  }
  const { resource } = block
  const isText = 'text' in resource
  const type = toType(resource.mimeType, isText ? 'text/plain' : 'application/octet-stream')
  const bytes = isText ? Buffer.from(resource.text) : Buffer.from(resource.blob, 'base64')
  const file = { name: nameOf(resource.uri, number, type), type, bytes }
  const line = `[resource ${shown(resource.uri)} ${await keepFile(keep, file, { isReturned: true, uri: shown(resource.uri) })}]`
  return isText ? `${line}\n${resource.text}` : line
}

/** A call has done what it did: that a file of it can't be kept is told, and is no failure. */
async function keepFile(
  keep: ToolContext['artifact'],
  { name, type, bytes }: { name: string; type: string; bytes: Buffer },
  use: ArtifactUse,
): Promise<string> {
  try {
    const kept = await keep(name, type, bytes, use)
    return `(${type}, ${kept.size} bytes) is kept as the file ${kept.name}`
  } catch (error) {
    return `(${type}, ${bytes.length} bytes) could not be kept: ${messageOf(error)}`
  }
}

function toType(type: string | undefined, otherwise: string): string {
  const [essence = ''] = (type ?? '').toLowerCase().split(';')
  return /^[\w.+-]{1,64}\/[\w.+-]{1,128}$/.test(essence.trim()) ? essence.trim() : otherwise
}

function shown(uri: string): string {
  return toLine(uri, 500)
}

/** The last part of its path, with an ending. */
function nameOf(uri: string, number: number, type: string): string {
  const path = URL.canParse(uri) ? new URL(uri).pathname : uri
  const last = toLine(decode(path.split('/').findLast((part) => part !== '') ?? ''), 100) || `resource-${number}`
  return /\.\w{1,8}$/.test(last) ? last : `${last}${endingOf(type)}`
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const endings: Readonly<Record<string, string>> = {
  ...{ 'image/jpeg': '.jpg', 'image/svg+xml': '.svg', 'audio/mpeg': '.mp3', 'audio/x-wav': '.wav', 'text/plain': '.txt' },
  ...{ 'text/markdown': '.md', 'application/gzip': '.gz', 'application/octet-stream': '.bin', 'application/javascript': '.js' },
}

/** `image/png` as `.png`: most types are called as their files end. */
function endingOf(type: string): string {
  const [, subtype = ''] = type.split('/')
  return endings[type] ?? (/^[a-z0-9]{1,5}$/.test(subtype) ? `.${subtype}` : '.bin')
}

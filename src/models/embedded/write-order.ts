import type { JsonObject, JsonSchema } from '../../agent/messages.ts'

/** True for a tool that writes files from a name and content. */
export function writesFiles(schema: JsonSchema): boolean {
  const names = Object.keys(schema['properties'] ?? {})
  return names.includes('file_name') && names.includes('content')
}

const order = /^(?:please\s+|can you\s+|could you\s+)*(?:write|save|store|put|create|make)\s+(.+)$/is
/** Matches "to a file called notes.txt", "into `notes.txt`" and "as notes.txt". */
const target =
  /(?<!\s)\s*\b(?:(?:in|to|into|as)\s+(?:a\s+|the\s+)?(?:new\s+)?(?:text\s+)?(?:file\b)?|(?:a\s+)?(?:new\s+)?(?:text\s+)?file\b)\s*(?:called\s+|named\s+)?["'`“]?([\w-]+(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,4})?["'`”]?/i

/** The file that a request orders to write; undefined without such an order. */
export function readWriteOrder(request: string): JsonObject | undefined {
  const orderedText = order.exec(request.trim())?.[1]
  const targetMatch = orderedText === undefined ? null : target.exec(orderedText)
  if (orderedText === undefined || !targetMatch || (targetMatch[1] === undefined && !/\bfile\b/i.test(targetMatch[0]))) return undefined
  const rest = `${orderedText.slice(0, targetMatch.index)} ${orderedText.slice(targetMatch.index + targetMatch[0].length)}`.trim()
  const quoted = /^(?:[^"“`']*\s)?["“`'](.+)["”`']\W*$/s.exec(rest)?.[1]
  const content =
    quoted ?? rest.replace(/^(?:with|containing|saying|that says|the (?:text|words?))?\s*(?:the (?:text|words?|content)\s*)?[:,]?\s*/i, '')
  return content === '' ? undefined : { file_name: targetMatch[1] ?? 'note.txt', content }
}

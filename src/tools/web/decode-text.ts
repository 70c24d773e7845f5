/** Decodes a fetched body with its declared encoding, or else as UTF-8 (WHATWG Encoding, HTML 13.2.3.2). */
export function decodeText(bytes: Uint8Array, contentType: string | null): string {
  // A byte order mark wins over every label (Encoding standard, decode).
  const label = markOf(bytes) ?? parameterOf(contentType) ?? declaredIn(bytes) ?? 'utf-8'
  return decode(bytes, label)
}

/** The media type without parameters: `text/html` of `text/html; charset=utf-8`; empty when absent. */
export function essenceOf(contentType: string | null): string {
  return (contentType ?? '').split(';')[0]!.trim().toLowerCase()
}

const textual =
  /^(text\/.+|.+\+(json|xml|yaml)|application\/(json|xml|yaml|x-yaml|javascript|x-www-form-urlencoded|graphql|jsonl|x-ndjson|toml|sql))$/

/** True for a textual media type, and for a body without a media type whose first 1024 bytes contain no NUL. */
export function isText(bytes: Uint8Array, contentType: string | null): boolean {
  const essence = essenceOf(contentType)
  if (textual.test(essence)) return true
  return essence === '' && !bytes.subarray(0, 1024).includes(0)
}

function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return first === 0xff && second === 0xfe ? 'utf-16le' : undefined
}

function parameterOf(contentType: string | null): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType ?? '')?.[1]
}

/** The encoding declared in the first 1024 bytes, as in browsers: `<meta charset=...>` or the XML declaration. */
function declaredIn(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 1024)).toString('latin1')
  const label = /<meta[^>]+charset\s*=\s*["']?([\w-]+)/i.exec(start)?.[1] ?? /^<\?xml[^>]+encoding\s*=\s*["']([\w-]+)/i.exec(start)?.[1]
  // The declaration was readable as single bytes, so the encoding cannot be UTF-16 (HTML 13.2.3.2).
  return label && /^utf-?16/i.test(label) ? 'utf-8' : label
}

function decode(bytes: Uint8Array, label: string): string {
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

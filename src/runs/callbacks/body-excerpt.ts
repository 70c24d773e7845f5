/** Bytes of a body that are kept and shown. */
export const maxExcerptBytes = 4096

/** Control characters but tabs and line breaks, and characters that turn the direction of a text. */
const unsafe = /[^\P{Cc}\n\r\t]|\p{Bidi_Control}/gu

/** The start of a body as text: at most 4 KiB of UTF-8, without half a character at the end; unsafe characters become U+FFFD. */
export function toBodyExcerpt(body: Uint8Array): string {
  const start = body.subarray(0, maxExcerptBytes)
  return new TextDecoder().decode(start, { stream: start.length === maxExcerptBytes }).replace(unsafe, '\uFFFD')
}

/** Characters that end or change a JSON string. */
// oxlint-disable-next-line no-control-regex
const special = /["\\\u0000-\u001f]/

/**
 * Reads chunks that differ from an earlier chunk only in their text. Servers send the same JSON for each token except for the text, and
 * parsing the whole chunk costs ten times as much as cutting the text out. Between the same characters, a text without quotes, escapes and
 * control characters makes the same object with another text.
 */
export class TextChunk {
  private readonly before: string
  private readonly after: string

  private constructor(before: string, after: string) {
    this.before = before
    this.after = after
  }

  /** The form of a chunk whose only content is `text` in the field `name`; undefined when the text cannot be located safely. */
  static of(data: string, text: string, name = 'content'): TextChunk | undefined {
    const field = `"${name}"`
    const opening = `${field}:"`
    const at = data.indexOf(field)
    const start = at + opening.length
    const isOnly = at >= 0 && !data.includes(field, start)
    if (!isOnly || special.test(text) || !data.startsWith(`${opening}${text}"`, at)) return undefined
    return new TextChunk(data.slice(0, start), data.slice(start + text.length))
  }

  /** The text of a chunk of this form; undefined for any other chunk. */
  textOf(data: string): string | undefined {
    const { before, after } = this
    if (data.length < before.length + after.length || !data.startsWith(before) || !data.endsWith(after)) return undefined
    const text = data.slice(before.length, data.length - after.length)
    return special.test(text) ? undefined : text
  }
}

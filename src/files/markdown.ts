import { parse } from 'yaml'
import { toMetadata, toSection, type Document, type Metadata, type Section } from './document.ts'

/** Reads Markdown with optional YAML front matter. Front matter which is not YAML, or too long, gives no metadata. Never throws. */
export function readMarkdown(content: string): Document {
  const text = content.replaceAll('\r\n', '\n')
  const front = /^---[ \t]*\n(?:([\s\S]*?)\n)?(?:---|\.\.\.)[ \t]*(?:\n|$)/.exec(text)
  const metadata = front ? parseFrontMatter(front[1] ?? '') : {}
  return { text, sections: toSections(text, front?.[0].length ?? 0), metadata }
}

/** People do not write longer front matter, and parsing takes quadratic time. */
const maxFrontMatterCharacters = 20_000

function parseFrontMatter(text: string): Metadata {
  if (text.length > maxFrontMatterCharacters) return {}
  try {
    return toMetadata(parse(text, { maxAliasCount: 10 }))
  } catch {
    return {}
  }
}

/** Limited because each section below repeats the title. */
const maxTitleCharacters = 300

/**
 * Splits Markdown at headings outside of fenced code, from the character `from`. Each section has the path of its headings. Lines end in `\n`.
 */
export function toSections(text: string, from = 0): Section[] {
  const sections: Section[] = []
  const headings: string[] = []
  let fence: string | undefined
  let bodyStart = from
  let lineStart = from
  /** The line before, unless it is a heading. */
  let previous: string | undefined
  const close = (bodyEnd: number) => {
    const section = toSection(text, bodyStart, bodyEnd, headings.filter(Boolean).join(' > '))
    if (section.text || section.heading) sections.push(section)
  }
  for (const line of text.slice(from).split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark && (fence === undefined || mark.startsWith(fence))) fence = fence === undefined ? mark : undefined
    const title = fence === undefined ? headingOf(line, previous) : undefined
    if (title) {
      close(title.underlined ? lineStart - (previous ?? '').length - 1 : lineStart)
      headings.splice(title.level - 1, Infinity)
      headings[title.level - 1] = title.text.slice(0, maxTitleCharacters)
      bodyStart = lineStart + line.length + 1
    }
    previous = title ? undefined : line
    lineStart += line.length + 1
  }
  close(text.length)
  return sections
}

/** Recognizes `## Title`, or a line underlined with `===` or `---`. */
function headingOf(line: string, previous: string | undefined): { level: number; text: string; underlined: boolean } | undefined {
  const hashes = /^ {0,3}(#{1,6})[ \t]+(?=\S)/.exec(line)
  if (hashes) return { level: hashes[1]?.length ?? 1, text: withoutClosing(line.slice(hashes[0].length)), underlined: false }
  const underline = /^(=+|-{2,})[ \t]*$/.exec(line)?.[1]
  if (!underline || !previous?.trim() || /^\s*([-*+>|]|\d+[.)])/.test(previous)) return undefined
  return { level: underline.startsWith('=') ? 1 : 2, text: previous.trim(), underlined: true }
}

/** Removes closing `#` characters: `Title ##` is `Title`. */
function withoutClosing(title: string): string {
  const whole = title.trimEnd()
  let end = whole.length
  while (whole[end - 1] === '#') end--
  return end > 0 && /[ \t]/.test(whole[end - 1] ?? '') ? whole.slice(0, end).trimEnd() : whole
}

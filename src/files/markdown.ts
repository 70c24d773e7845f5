import { parse } from 'yaml'
import { toMetadata, type Document, type Metadata, type Section } from './document.ts'

/** Markdown with optional YAML front matter. Front matter that is not YAML, or endless, gives no metadata; nothing here throws. */
export function readMarkdown(text: string): Document {
  const front = /^---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/.exec(text)
  const metadata = front ? parseFrontMatter(front[1] ?? '') : {}
  return { text, sections: toSections(text.slice(front?.[0].length ?? 0)), metadata }
}

/** Longer front matter is none that people write; to parse it takes the square of its length. */
const maxFrontMatterCharacters = 20_000

function parseFrontMatter(text: string): Metadata {
  if (text.length > maxFrontMatterCharacters) return {}
  try {
    return toMetadata(parse(text, { maxAliasCount: 10 }))
  } catch {
    return {}
  }
}

/** Each section below repeats it. */
const maxTitleCharacters = 300

/** Splits at the headings, outside of fenced code; each section knows the headings that it stands under. */
export function toSections(text: string): Section[] {
  const sections: Section[] = []
  const headings: string[] = []
  let lines: string[] = []
  let fence: string | undefined
  const close = () => {
    const body = lines.join('\n').trim()
    const heading = headings.filter(Boolean).join(' > ')
    if (body || heading) sections.push({ heading, text: body })
    lines = []
  }
  for (const line of text.split(/\r?\n/)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark && (fence === undefined || mark.startsWith(fence))) fence = fence === undefined ? mark : undefined
    const title = fence === undefined ? headingOf(line, lines.at(-1)) : undefined
    if (!title) {
      lines.push(line)
      continue
    }
    if (title.underlined) lines.pop()
    close()
    headings.splice(title.level - 1, Infinity)
    headings[title.level - 1] = title.text.slice(0, maxTitleCharacters)
  }
  close()
  return sections
}

/** `## Title`, or a line that the next one underlines with `===` or `---`. */
function headingOf(line: string, before: string | undefined): { level: number; text: string; underlined: boolean } | undefined {
  const marked = /^ {0,3}(#{1,6})[ \t]+(?=\S)/.exec(line)
  if (marked) return { level: marked[1]?.length ?? 1, text: withoutClosing(line.slice(marked[0].length)), underlined: false }
  const under = /^(=+|-{2,})[ \t]*$/.exec(line)?.[1]
  if (!under || !before?.trim() || /^\s*([-*+>|]|\d+[.)])/.test(before)) return undefined
  return { level: under.startsWith('=') ? 1 : 2, text: before.trim(), underlined: true }
}

/** `Title ##` is `Title`. */
function withoutClosing(title: string): string {
  const whole = title.trimEnd()
  let end = whole.length
  while (whole[end - 1] === '#') end--
  return end > 0 && /[ \t]/.test(whole[end - 1] ?? '') ? whole.slice(0, end).trimEnd() : whole
}

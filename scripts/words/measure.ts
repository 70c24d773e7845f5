import { parseSync, type Comment } from 'oxc-parser'
import { collectSyntax } from './syntax.ts'
import { directive, functionWords, oddOpening, pronoun } from './vocabulary.ts'

/** A passage of a source text that breaks a rule. */
export interface Finding {
  file: string
  line: number
  text: string
  /** Findings with a larger weight are shown first. */
  weight: number
}

/** Counts and findings, summed over the measured source texts. */
export interface Measurement {
  comments: number
  commentWords: number
  pronouns: number
  names: number
  openings: Finding[]
  pronounComments: Finding[]
  functionWordNames: Finding[]
  spreads: Finding[]
}

/** Comments with more than 1 pronoun in 12 words are listed. */
const wordsPerPronoun = 12
const excerptLength = 100

export function createMeasurement(): Measurement {
  return { comments: 0, commentWords: 0, pronouns: 0, names: 0, openings: [], pronounComments: [], functionWordNames: [], spreads: [] }
}

/** Measures one TypeScript source text and adds the result to `total`. Throws a SyntaxError when the text cannot be parsed. */
export function measureText(file: string, text: string, total: Measurement): void {
  const { program, comments, errors } = parseSync(file, text)
  if (errors[0]) throw new SyntaxError(`${file} cannot be parsed: ${errors[0].message}`)
  const createFinding: CreateFinding = (offset, passage, weight = 0) => ({
    file,
    line: lineAt(text, offset),
    text: passage.replaceAll(/\s+/g, ' ').slice(0, excerptLength),
    weight,
  })
  for (const comment of joinLines(comments, text)) measureComment(comment, total, createFinding)
  const syntax = collectSyntax(program)
  total.names += syntax.names.length
  for (const { name, start } of syntax.names) if (functionWords.has(name)) total.functionWordNames.push(createFinding(start, name))
  for (const { start, end } of syntax.spreads) total.spreads.push(createFinding(start, text.slice(start, end), end - start))
}

type CreateFinding = (offset: number, passage: string, weight?: number) => Finding

function measureComment({ prose, start }: Prose, total: Measurement, createFinding: CreateFinding): void {
  const words = prose.split(/\s+/).length
  const pronouns = prose.match(pronoun)?.length ?? 0
  total.comments += 1
  total.commentWords += words
  total.pronouns += pronouns
  if (oddOpening.test(prose)) total.openings.push(createFinding(start, prose, pronouns))
  if (pronouns * wordsPerPronoun > words) {
    total.pronounComments.push(createFinding(start, `${pronouns} in ${words} words: ${prose}`, pronouns - words / wordsPerPronoun))
  }
}

interface Prose {
  prose: string
  start: number
}

/** The prose of all comments. Line comments on consecutive lines are one comment. Directives for tools are left out. */
function joinLines(comments: readonly Comment[], text: string): Prose[] {
  const joined: Prose[] = []
  let previousLine: { comment: Comment; target: Prose } | undefined
  for (const comment of comments) {
    const prose = proseOf(comment)
    if (prose === '' || directive.test(prose)) continue
    const isContinuation =
      previousLine && comment.type === 'Line' && /^\r?\n[ \t]*$/.test(text.slice(previousLine.comment.end, comment.start))
    const target = isContinuation ? previousLine!.target : { prose: '', start: comment.start }
    if (!isContinuation) joined.push(target)
    target.prose = isContinuation ? `${target.prose} ${prose}` : prose
    previousLine = comment.type === 'Line' ? { comment, target } : undefined
  }
  return joined
}

function proseOf({ type, value }: Comment): string {
  return (type === 'Block' ? value.replaceAll(/^\s*\* ?/gm, '') : value).trim()
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

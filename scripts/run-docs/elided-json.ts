/** Stands for anything: the value of an elided element, and the name of an elided member. */
export const anything = '...'

const tokens = /"(?:[^"\\]|\\.)*"|\.\.\.|[{}[\],:]|[^\s"{}[\],:.]+(?:\.(?!\.\.)[^\s"{}[\],:.]*)*/g

/**
 * Parses JSON in which `...` stands for members, elements or a value that are left out; at the end it stands for everything that follows.
 * An elided value or element becomes the text "...", elided members become a member "...". Several documents may follow each other.
 * Throws for anything else that is not JSON.
 */
export function parseElidedJson(text: string): unknown[] {
  return splitDocuments(toJson(text)).map((document) => JSON.parse(document) as unknown)
}

function toJson(text: string): string {
  const open: string[] = []
  let json = ''
  let previous = ''
  for (const [token] of text.matchAll(tokens)) {
    const isElision = token === anything
    if (isElision && !/[{[,:]$|^$/.test(previous)) json += ','
    else if (previous === anything && !'}],'.includes(token)) json += ','
    if (token === '{' || token === '[') open.push(token === '{' ? '}' : ']')
    if (token === '}' || token === ']') open.pop()
    json += isElision ? writeElision(open.at(-1) === '}' && previous !== ':') : token
    previous = token
  }
  return previous === anything ? json + closeAll(open) : json
}

/** Closes what is open after an elision at the end: every level may go on. */
function closeAll(open: string[]): string {
  const ends = open.toReversed()
  return ends.map((end, index) => (index === 0 ? end : `,${writeElision(end === '}')}${end}`)).join('')
}

function writeElision(isMember: boolean): string {
  return isMember ? `"${anything}":"${anything}"` : `"${anything}"`
}

/** Splits documents that follow each other, as the answers of several requests do. */
export function splitDocuments(text: string): string[] {
  const documents: string[] = []
  let depth = 0
  let start = 0
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') depth--
    else continue
    if (depth > 0) continue
    const end = index + token.length
    documents.push(text.slice(start, end))
    start = end
  }
  const rest = text.slice(start).trim()
  return rest === '' ? documents : [...documents, rest]
}

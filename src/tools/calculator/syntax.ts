/** What people and models write in sums, in the terms of the expression language. */
const spellings: [RegExp, string][] = [
  [/[×·]/g, '*'],
  [/÷/g, '/'],
  [/[−–]/g, '-'],
  [/\*\*/g, '^'],
  [/√\s*(\d+(?:\.\d+)?)/g, 'sqrt($1)'],
  [/√\s*\(/g, 'sqrt('],
  [/%\s+of\b/gi, '% *'],
]

/** A number with its thousands grouped, a name or a number, any other sign. */
const token = /(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\d,])|\w+|\S/g

/**
 * Accepts `17% of 2,340`, `3 × 4` and `2 ** 8`. Between a function's parentheses and in brackets a comma separates
 * (`max(1,200)`), elsewhere it may group thousands.
 */
export function toExpression(text: string): string {
  const spelled = spellings.reduce((spelt, [from, to]) => spelt.replace(from, to), text.trim())
  // Whether a comma separates, for each bracket that is open.
  const separates: boolean[] = []
  let before = ''
  return spelled.replace(token, (part) => {
    if (part === '(') separates.push(/^[A-Za-z_]/.test(before))
    else if (part === '[' || part === '{') separates.push(true)
    else if (part === ')' || part === ']' || part === '}') separates.pop()
    before = part
    return part.length > 1 && !separates.at(-1) ? part.replaceAll(',', '') : part
  })
}

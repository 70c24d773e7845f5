/** Replaces spellings of people and models by the syntax of mathjs. */
const spellings: [RegExp, string][] = [
  [/[×·]/g, '*'],
  [/÷/g, '/'],
  [/[−–]/g, '-'],
  [/\*\*/g, '^'],
  [/√\s*(\d+(?:\.\d+)?)/g, 'sqrt($1)'],
  [/√\s*\(/g, 'sqrt('],
  [/%\s+of\b/gi, '% *'],
]

/** Matches a number with grouped thousands, a name or number, or any other character. */
const token = /(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\d,])|\w+|\S/g

/**
 * Accepts `17% of 2,340`, `3 × 4` and `2 ** 8`. Between a function's parentheses and in brackets a comma separates
 * (`max(1,200)`), elsewhere it may group thousands.
 */
export function toExpression(text: string): string {
  const spelled = spellings.reduce((spelt, [pattern, replacement]) => spelt.replace(pattern, replacement), text.trim())
  // For each open bracket: true if commas separate arguments or elements inside.
  const separates: boolean[] = []
  let previous = ''
  return spelled.replace(token, (part) => {
    if (part === '(') separates.push(/^[A-Za-z_]/.test(previous))
    else if (part === '[' || part === '{') separates.push(true)
    else if (part === ')' || part === ']' || part === '}') separates.pop()
    previous = part
    return part.length > 1 && !separates.at(-1) ? part.replaceAll(',', '') : part
  })
}

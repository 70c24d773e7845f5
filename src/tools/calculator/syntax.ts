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

const grouped = /(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\d,])/g

/**
 * Accepts `17% of 2,340`, `3 × 4` and `2 ** 8`. Between a function's parentheses and in brackets a comma separates
 * (`max(1,200)`), elsewhere it may group thousands.
 */
export function toExpression(text: string): string {
  const spelled = spellings.reduce((spelt, [from, to]) => spelt.replace(from, to), text.trim())
  return spelled.replace(grouped, (digits, offset: number) => (commaSeparates(spelled, offset) ? digits : digits.replaceAll(',', '')))
}

function commaSeparates(text: string, offset: number): boolean {
  const open: string[] = []
  for (const match of text.slice(0, offset).matchAll(/(\w*)\s*([([{])|[)\]}]/g)) {
    if (match[2] === undefined) open.pop()
    else open.push(match[2] === '(' && !/^[A-Za-z_]/.test(match[1] ?? '') ? 'group' : 'list')
  }
  return open.at(-1) === 'list'
}

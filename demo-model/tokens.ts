/** Estimates tokens: a token for every started four characters of a word. */
export function countTokens(text: string): number {
  let count = 0
  let length = 0
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) > 32) {
      if (length % 4 === 0) count++
      length++
    } else length = 0
  }
  return count
}

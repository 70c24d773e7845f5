/**
 * Combining marks kept behind one letter, as in Unicode's Stream-Safe Text Format (UAX #15); no script needs more. ICU
 * sorts the marks of a letter in quadratic time, so 40,000 of them would block the event loop for seconds.
 */
const excess = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu

/**
 * `text.normalize(form)` in linear time: marks beyond the 30th of a letter are dropped. All normalisation of text goes
 * through this function.
 */
export function normaliseText(text: string, form: 'NFC' | 'NFD' | 'NFKD'): string {
  return text.replace(excess, '$1').normalize(form)
}

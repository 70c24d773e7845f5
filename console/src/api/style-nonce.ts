/** Nonce of this response: the content security policy permits style elements with this nonce. */
export const styleNonce = document.querySelector('meta[name="csp-nonce"]')?.getAttribute('content') ?? ''

// Mantine's dialogs lock scrolling with `react-remove-scroll`, which reads the nonce for style elements from this name.
Object.assign(globalThis, { __webpack_nonce__: styleNonce })

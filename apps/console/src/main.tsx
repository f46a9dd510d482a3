import '@mantine/core/styles.css'
import './app/console.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Console } from './app/console.tsx'
import { nonce } from './app/nonce.ts'
import { startLanguages } from './words/languages.ts'

// The library that locks scrolling behind dialogs looks for its nonce here.
Object.assign(globalThis, { __webpack_nonce__: nonce })

await startLanguages()
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Console />
  </StrictMode>,
)

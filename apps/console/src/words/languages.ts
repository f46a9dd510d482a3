import i18next from 'i18next'
import { initReactI18next } from 'react-i18next'
import { en } from './en.ts'
import { zh } from './zh.ts'

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation'
    resources: { translation: typeof en }
  }
}

export const languages = [
  { code: 'en', name: 'English' },
  { code: 'zh', name: '中文' },
] as const
export type Language = (typeof languages)[number]['code']

const KEPT = 'herald.language'

/** What was chosen before, else what the browser asks for, else English. */
function firstLanguage(): Language {
  const kept = localStorage.getItem(KEPT)
  if (kept === 'en' || kept === 'zh') return kept
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en'
}

export async function startLanguages(): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: firstLanguage(),
    fallbackLng: false,
    resources: { en: { translation: en }, zh: { translation: zh } },
    // React escapes what it shows.
    interpolation: { escapeValue: false },
  })
  showLanguage()
}

export async function chooseLanguage(language: Language): Promise<void> {
  localStorage.setItem(KEPT, language)
  await i18next.changeLanguage(language)
  showLanguage()
}

function showLanguage(): void {
  document.documentElement.lang = i18next.language === 'zh' ? 'zh-CN' : 'en'
}

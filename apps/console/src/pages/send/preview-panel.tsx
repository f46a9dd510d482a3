import './preview.css'
import { Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Panel } from '../../components/panel.tsx'
import icon from '../../session/icon.svg'
import { useCurrentSession } from '../../session/session.ts'
import type { Draft } from './draft.ts'
import { previewOf } from './preview-of.ts'

export function PreviewPanel({ draft }: { draft: Draft }) {
  const { t } = useTranslation()
  return (
    <Panel title={t('send.preview')}>
      <div className="screens">
        <Screen draft={draft} platform="iphone" name={t('send.previewIphone')} />
        <Screen draft={draft} platform="android" name={t('send.previewAndroid')} />
      </div>
    </Panel>
  )
}

type Props = { draft: Draft; platform: 'iphone' | 'android'; name: string }

function Screen({ draft, platform, name }: Props) {
  const { t } = useTranslation()
  const { applicationName } = useCurrentSession()
  const preview = previewOf(draft, platform)
  return (
    <figure className={`screen ${platform}`}>
      <figcaption>{name}</figcaption>
      {preview.kind === 'card' ? (
        <article className="card">
          <header>
            <img src={icon} alt="" width={18} height={18} />
            <span className="app">{applicationName || t('send.previewApp')}</span>
            <span>{t('send.previewNow')}</span>
          </header>
          <div className="texts">
            <div>
              {preview.title && <strong>{preview.title}</strong>}
              {preview.subtitle && <em>{preview.subtitle}</em>}
              {preview.body && <p>{preview.body}</p>}
            </div>
          </div>
          {preview.image && <img className="picture" src={preview.image} alt={t('send.previewImage')} />}
          <footer>{t('send.previewBadge', { n: preview.badge })}</footer>
          {preview.url && <footer className="breaks">{t('send.previewUrl', { url: preview.url })}</footer>}
          {preview.collapseKey && <footer>{t('send.previewCollapse', { key: preview.collapseKey })}</footer>}
          {preview.urgent && <footer>{t('send.previewUrgent')}</footer>}
          {preview.hidden && <footer>{t('send.previewHidden')}</footer>}
        </article>
      ) : preview.kind === 'activity' ? (
        <article className="card">
          <header>
            <img src={icon} alt="" width={18} height={18} />
            <span className="app">{applicationName || t('send.previewApp')}</span>
            <span>{t('send.previewActivity', { event: preview.event })}</span>
          </header>
          <p className="breaks">{preview.fields}</p>
        </article>
      ) : (
        <Text size="sm" ta="center" c="inherit" p="sm">
          {t(preview.kind === 'silent' ? 'send.previewSilent' : 'send.previewBlank')}
        </Text>
      )}
    </figure>
  )
}

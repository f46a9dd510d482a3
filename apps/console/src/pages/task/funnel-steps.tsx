import { Progress, SimpleGrid, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { Funnel, FunnelStep } from '../../calculations/funnel.ts'
import { useLabels } from '../../i18n/labels.ts'

const colors = { target: 'gray.5', sent: 'herald.6', received: 'indigo.5', clicked: 'grape.5' }

/** Target, sent, received and clicked of all channels. What cannot be known is not part of a share and shown apart. */
export function FunnelSteps({ funnel, silent }: { funnel: Funnel; silent: string }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const { steps, reportable, unreported } = funnel
  const most = Math.max(1, ...steps.map(({ count }) => count))
  const shareText = ({ kind, share }: FunnelStep) => {
    if (kind === 'target') return ''
    if (share === undefined) return '–'
    const values = { share: format.percent(share), n: format.number(reportable) }
    if (kind === 'sent') return t('task.shareOfTarget', values)
    if (kind === 'clicked') return t('task.shareOfReceived', values)
    return t(unreported > 0 ? 'task.shareOfReporting' : 'task.shareOfSent', values)
  }
  return (
    <>
      <SimpleGrid component="ol" className="steps" cols={{ base: 2, sm: 4 }} spacing="md">
        {steps.map((step) => (
          <li key={step.kind} data-step={step.kind}>
            <Text size="xs" c="dimmed">
              {t(`counter.${step.kind}`)}
            </Text>
            <div className="figure">{format.number(step.count)}</div>
            <Progress
              value={(step.count / most) * 100}
              color={colors[step.kind]}
              aria-hidden
              role="presentation"
              my={4}
            />
            <Text size="xs" c="dimmed">
              {shareText(step)}
            </Text>
          </li>
        ))}
      </SimpleGrid>
      {unreported > 0 && (
        <Text size="sm" data-step="unreported">
          {t('task.unreported', { n: format.number(unreported), names: silent })}
        </Text>
      )}
    </>
  )
}

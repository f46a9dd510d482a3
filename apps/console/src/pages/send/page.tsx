import { Accordion, Button, Grid, Group, Stack, Text } from '@mantine/core'
import { IconSend } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CurlDialog } from '../../components/curl-dialog.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { useAppNavigate } from '../../session/application-path.ts'
import { useAppId } from '../../session/session.ts'
import { AudiencePanel } from './audience-panel.tsx'
import { AudienceSize } from './audience-size.tsx'
import { ContentPanel } from './content-panel.tsx'
import { isUntouched } from './draft.ts'
import { ExplainPanel } from './explain-panel.tsx'
import { type FieldName, idOf } from './fields.ts'
import type { FieldProps } from './form-fields.ts'
import { FromTask } from './from-task.tsx'
import { MoreContent } from './more-content.tsx'
import { PlatformFieldsList } from './platform-fields-list.tsx'
import { PreviewPanel } from './preview-panel.tsx'
import { ProblemList } from './problem-list.tsx'
import { refusalOf } from './refusal.ts'
import { requestText } from './request.ts'
import { ReviewDialog, type Reviewed } from './review-dialog.tsx'
import { RoutingFields } from './routing-fields.tsx'
import { SchedulePanel } from './schedule-panel.tsx'
import { TestDialog } from './test-dialog.tsx'
import { useDraft } from './use-draft.ts'
import { useFocusField } from './use-focus-field.ts'
import { useProblems } from './use-problems.ts'

export const page = { Component: SendPage }

/** There is no HTML form around the fields: Enter in a field must not send. */
function SendPage() {
  const { t } = useTranslation()
  const appId = useAppId()
  const navigate = useAppNavigate()
  const { draft, change, replace, clear, requestId } = useDraft(appId)
  const { problems, isChecked, check, refuse, reset } = useProblems(draft)
  const { sections, setSections, platforms, setPlatforms, focusField } = useFocusField()
  const [dialog, setDialog] = useState<'test' | 'curl'>()
  const [reviewed, setReviewed] = useState<Reviewed>()
  const closeDialog = () => setDialog(undefined)
  const closeReview = () => setReviewed(undefined)

  const field: FieldProps = (name: FieldName) => ({
    id: idOf(name),
    error: problems.find((problem) => problem.field === name)?.text,
  })
  /** Opens a dialog if the form has no problem; otherwise goes to the first one. */
  const unlessWrong = (fields: readonly FieldName[], open: () => void) => {
    if (fields[0]) focusField(fields[0])
    else open()
  }
  const onRefused = (error: unknown) => {
    const refusal = refusalOf(error, draft)
    refuse(error)
    closeReview()
    if (refusal) focusField(refusal.field)
  }
  const onAccepted = (taskId: number) => {
    closeReview()
    clear()
    reset()
    void navigate(`/tasks/${taskId}`)
  }
  const panel = { draft, change, field }
  return (
    <Stack className="send-page">
      <PageHeader title={t('send.title')} lead={t(isUntouched(draft) ? 'send.lead' : 'send.draftKept')}>
        <Button variant="default" onClick={() => setDialog('curl')}>
          {t('app.curl')}
        </Button>
        {isUntouched(draft) ? (
          <Button
            variant="default"
            onClick={() => change({ title: t('send.exampleTitle'), body: t('send.exampleBody') })}
          >
            {t('send.example')}
          </Button>
        ) : (
          <Button
            variant="default"
            onClick={() => {
              clear()
              reset()
            }}
          >
            {t('send.clear')}
          </Button>
        )}
      </PageHeader>
      <FromTask hasDraft={!isUntouched(draft)} onFill={replace} />
      <Grid>
        <Grid.Col span={{ base: 12, md: 7, lg: 8 }}>
          <Stack>
            <ContentPanel {...panel} />
            <AudiencePanel {...panel} />
            <SchedulePanel {...panel} />
            <Accordion
              multiple
              variant="contained"
              order={2}
              keepMounted={false}
              transitionDuration={0}
              value={sections}
              onChange={setSections}
            >
              <Fold name="content" title={t('send.moreContent')} hint={t('send.moreContentHint')}>
                <MoreContent {...panel} />
              </Fold>
              <Fold name="routing" title={t('send.route')} hint={t('send.routeHint')}>
                <RoutingFields {...panel} />
              </Fold>
              <Fold name="platforms" title={t('send.platforms')} hint={t('send.platformHint')}>
                <PlatformFieldsList {...panel} opened={platforms} onOpen={setPlatforms} />
              </Fold>
            </Accordion>
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5, lg: 4 }}>
          <Stack className="aside">
            <PreviewPanel draft={draft} />
            <ExplainPanel text={(pushToken) => requestText(draft, { kind: 'device', pushToken })} />
          </Stack>
        </Grid.Col>
      </Grid>
      {isChecked && problems.length > 0 && <ProblemList problems={problems} onSelect={focusField} />}
      <Group className="send-bar" justify="space-between" gap="sm">
        <div className="size">
          <AudienceSize draft={draft} />
        </div>
        <Group gap="xs">
          <Button variant="default" onClick={() => unlessWrong(check('audience'), () => setDialog('test'))}>
            {t('test.open')}
          </Button>
          <Button
            leftSection={<IconSend size={18} aria-hidden />}
            onClick={() => unlessWrong(check(), () => setReviewed({ draft, requestId: requestId() }))}
          >
            {t('send.review')}
          </Button>
        </Group>
      </Group>
      <ReviewDialog reviewed={reviewed} onClose={closeReview} onRefused={onRefused} onAccepted={onAccepted} />
      <TestDialog opened={dialog === 'test'} draft={draft} onClose={closeDialog} />
      <CurlDialog
        opened={dialog === 'curl'}
        path="/push/notify"
        body={requestText(draft)}
        onClose={closeDialog}
      />
    </Stack>
  )
}

type FoldProps = { name: string; title: string; hint: string; children: ReactNode }

function Fold({ name, title, hint, children }: FoldProps) {
  return (
    <Accordion.Item value={name}>
      <Accordion.Control>
        <Text fw={600}>{title}</Text>
        <Text size="xs" c="dimmed">
          {hint}
        </Text>
      </Accordion.Control>
      <Accordion.Panel>{children}</Accordion.Panel>
    </Accordion.Item>
  )
}

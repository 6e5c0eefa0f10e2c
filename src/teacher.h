/*-------------------------------------------------------------------------
 *
 * teacher.h
 *	  Sessions tell the names of tranches that only they know.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_TEACHER_H
#define WSC_TEACHER_H

/* Called once, while the library is preloaded. */
extern void WscTeacherInit(void);

#endif							/* WSC_TEACHER_H */
